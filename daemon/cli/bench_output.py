"""What `honed bench` prints: one cell with all that its figure depends on, and the list of benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Column, Table
from rich.text import Text

from daemon.cli.bench_figures import figures
from daemon.cli.evaluate import measured_data
from daemon.optimizer.evaluate import EvaluationReport
from daemon.plain import plain
from daemon.tasks.benchmarks.bench_set import BenchSet, open_bench
from daemon.tasks.benchmarks.benchmark import Benchmark
from daemon.tasks.benchmarks.places import present
from daemon.tasks.task import TaskError
from daemon.wiring import Parts

if TYPE_CHECKING:
    from rich.console import Console


def cell_data(
    found: BenchSet, report: EvaluationReport, parts: Parts, *, model: str, skill: str, limit: int | None
) -> dict[str, Any]:
    """The machine-readable cell."""
    one = found.benchmark
    cell = figures(report.results, one.metric)
    left_out = found.left_out_of(report.split)
    return {
        "benchmark": one.name,
        "data": str(found.folder),
        "split": report.split,
        "limit": limit,
        "manifest": {
            "how": found.manifest.how,
            "digest": found.manifest.digest,
            "published": found.manifest.published,
            **found.sizes()[report.split],
        },
        "tasks_digest": parts.tasks.digest,
        "split_digest": found.manifest.digest,
        "left_out": [{"task": left.id, "why": left.why} for left in left_out],
        "harness": parts.harness.name,
        "model": model,
        "sandbox": parts.engine.engine if parts.engine else "none",
        "skill": {"asked": skill, "name": report.skill, "digest": report.digest},
        "metric": one.metric,
        "score": cell.score,
        "standard_error": cell.error,
        "hard": cell.hard,
        "soft": cell.soft,
        "tasks": cell.of,
        "valid": cell.valid,
        "invalid": cell.invalid,
        "decisive": report.decisive,
        "reused": report.reused,
        **measured_data(report),
    }


def render_cell(console: Console, data: dict[str, Any]) -> None:
    """The cell for people."""
    table = Table("task", "outcome", "score", "feedback", box=None, pad_edge=False)
    for row in data["results"]:
        score = "invalid" if row["score"] is None else f"{row['score']:.2f}"
        table.add_row(row["task"], row["outcome"], score, Text(plain(row["feedback"])))
    console.print(table)
    figure = "no valid result" if data["score"] is None else f"{data['score']:.3f}"
    error = "" if data["standard_error"] is None else f" ± {data['standard_error']:.3f}"
    who = f"{data['harness']} with {plain(data['model'])}, skill {plain(data['skill']['asked'])}"
    head = f"{data['benchmark']}, {data['split']}, {who}"
    console.print(Text.assemble((f"{head}: {figure}{error}", "bold"), f" ({data['metric']}, standard error)"))
    for line in _lines(data):
        console.print(Text(plain(line)))


def _lines(data: dict[str, Any]) -> list[str]:
    manifest, usage, invalid = data["manifest"], data["usage"], data["invalid"]
    lost = f"; invalid: {', '.join(f'{count} {name}' for name, count in invalid.items())}" if invalid else ""
    left = f", {len(data['left_out'])} left out as unscorable" if data["left_out"] else ""
    usd = "at an unknown price" if usage["usd"] is None else f"${usage['usd']:.4f}"
    lines = [
        f"{data['valid']} of {data['tasks']} tasks valid, {data['reused']} read back{left}{lost}",
        f"split {manifest['how']}: {manifest['tasks']} of {manifest['listed']} listed tasks here, {manifest['digest']}",
        f"cost: {usage['requests']} requests, {usage['tokens']:,} tokens, {usd}",
    ]
    if not data["decisive"]:
        lines.append("too few valid results to mean anything: run it again, or see the outcomes above")
    return lines


def list_data(one: Benchmark, root: Path) -> dict[str, Any]:
    """One row of the list (blocks: reads what is there)."""
    row: dict[str, Any] = {
        "benchmark": one.name,
        "title": one.title,
        "folder": str(root / one.folder),
        "present": present(one, root),
        "harnesses": list(one.harnesses),
        "skill": str(one.skill),
        "metric": one.metric,
        "licence": one.licence,
        "source": one.source,
    }
    if not row["present"]:
        return row
    try:
        found = open_bench(one, root)
    except TaskError as error:
        return {**row, "fault": str(error)}
    return {
        **row,
        "splits": found.sizes(),
        "manifest": {"how": found.manifest.how, "digest": found.manifest.digest, "published": found.manifest.published},
        "left_out": [{"task": left.id, "why": left.why} for left in found.left_out],
        "unlisted": found.unlisted,
    }


def render_list(console: Console, root: Path, rows: list[dict[str, Any]]) -> None:
    """The list for people."""
    name = Column("benchmark", no_wrap=True, min_width=max(len(row["benchmark"]) for row in rows))
    table = Table(name, "data", "train", "selection", "test", "split", "harnesses", box=None, pad_edge=False)
    for row in rows:
        sizes = [_size(size) for size in row.get("splits", {}).values()] or [""] * 3
        here = "unusable" if "fault" in row else ("here" if row["present"] else "not here")
        how = row.get("manifest", {}).get("how", "")
        table.add_row(row["benchmark"], here, *sizes, how, ", ".join(row["harnesses"]))
    console.print(table)
    for row in rows:
        if "fault" in row:
            console.print(Text(plain(row["fault"]), style="yellow"))
        elif row.get("left_out"):
            ids = ", ".join(left["task"] for left in row["left_out"][:8])
            more = ", …" if len(row["left_out"]) > 8 else ""
            console.print(
                Text(plain(f"{row['benchmark']}: {len(row['left_out'])} items cannot be scored: {ids}{more}"))
            )
    console.print(Text(f"Data is looked for in {root} (--data DIR, or $HONED_BENCH_DATA); --sample needs none."))


def _size(size: dict[str, int]) -> str:
    return str(size["tasks"]) if size["tasks"] == size["listed"] else f"{size['tasks']} of {size['listed']}"
