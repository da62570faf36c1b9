"""`honed bench NAME`: one cell of a benchmark's table; `honed bench list`: which benchmarks' data is here."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from daemon.cli.bench_config import bench_config
from daemon.cli.bench_output import cell_data, list_data, render_cell, render_list
from daemon.cli.evaluate import HarnessName
from daemon.cli.options import DEFAULT_CONFIG, AsJson, ConfigFile
from daemon.cli.output import Output
from daemon.cli.progress import progress
from daemon.cli.run import run
from daemon.config import ConfigError
from daemon.optimizer.evaluate import EvaluationReport, evaluate
from daemon.optimizer.gates.rule import GateRule
from daemon.preflight import check_target
from daemon.tasks.benchmarks.bench_set import SEED, BenchSet, limited, open_bench
from daemon.tasks.benchmarks.benchmark import Ratio
from daemon.tasks.benchmarks.catalogue import BENCHMARKS, benchmark
from daemon.tasks.benchmarks.places import data_folder
from daemon.tasks.task import Split, TaskError
from daemon.wiring import Parts, open_parts
from sandboxes.gateway.policy import Provider
from skills_repo.skill import Skill, read_folder
from skills_repo.validate import validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from daemon.tasks.task import Task

LIST = "list"


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("bench")(bench)


def bench(
    name: Annotated[str, typer.Argument(help="A benchmark, or `list`: what there is and whose data is here.")] = LIST,
    *,
    harness: Annotated[HarnessName, typer.Option(help="How the agent is driven.")] = "chat",
    skill: Annotated[
        str,
        typer.Option(help="`none`, `initial` (the benchmark's own), or a skill's folder.", metavar="none|initial|PATH"),
    ] = "none",
    split: Annotated[Split, typer.Option(help="Which tasks.")] = "test",
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many tasks, by id.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Where the data is (default: $HONED_BENCH_DATA, else ./bench-data).")
    ] = None,
    sample: Annotated[bool, typer.Option("--sample", help="The few made-up items that come with honed.")] = False,
    ratio: Annotated[
        str | None, typer.Option(help="Split so, train:selection:test, even where published lists are there.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of a split by ratio.")] = SEED,
    model: Annotated[str | None, typer.Option(help="The model (default: the target's in honed.toml).")] = None,
    provider: Annotated[Provider | None, typer.Option(help="Of a chat model (default: openai).")] = None,
    simulated: Annotated[
        bool, typer.Option("--simulated", help="A simulated model on loopback: shows that all works, and no more.")
    ] = False,
    trial: Annotated[
        int, typer.Option(min=0, help="Number of the trial: equal ones are read back, a new number measures afresh.")
    ] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Attempts at the same time.")] = None,
    config: ConfigFile = DEFAULT_CONFIG,
    as_json: AsJson = False,
) -> None:
    """Score a skill on a public benchmark, or say which benchmarks' data is here. Learns nothing.

    Example: honed bench searchqa --harness chat --skill initial --sample --simulated
    """
    output = Output(as_json=as_json)
    where = _Where(data, sample, ratio, seed)
    if name == LIST:
        run(output, lambda: _list(output, where))
        return
    how = _How(harness, skill, split, limit, model, provider, simulated, trial, workers)
    run(output, lambda: _bench(output, name, where, how, config))


@dataclass(frozen=True)
class _Where:
    """Which data, split how."""

    data: Path | None
    sample: bool
    ratio: str | None
    seed: int

    def open(self, name: str) -> BenchSet:
        """The set (blocks)."""
        one = benchmark(name)
        root = one.sample if self.sample else data_folder(self.data)
        return open_bench(one, root, ratio=_ratio(self.ratio), seed=self.seed)


@dataclass(frozen=True)
class _How:
    """Who works on what."""

    harness: HarnessName
    skill: str
    split: Split
    limit: int | None
    model: str | None
    provider: Provider | None
    simulated: bool
    trial: int
    workers: int | None


def _ratio(text: str | None) -> Ratio | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d{1,6}):(\d{1,6}):(\d{1,6})", text)
    if found is None or not any(map(int, found.groups())):
        raise ConfigError(f"--ratio {text!r} is no ratio: give train:selection:test, such as 4:1:5 or 2:1:7")
    return int(found[1]), int(found[2]), int(found[3])


async def _list(output: Output, where: _Where) -> int:
    root = data_folder(where.data)
    rows = await asyncio.to_thread(lambda: [list_data(one, root) for one in BENCHMARKS.values()])
    output.result({"data": str(root), "benchmarks": rows}, lambda console: render_list(console, root, rows))
    return 0


async def _bench(output: Output, name: str, where: _Where, how: _How, file: Path) -> int:
    one = benchmark(name)
    if how.harness not in one.harnesses:
        raise ConfigError(f"{one.title} cannot be done by {how.harness}: give --harness " + " or ".join(one.harnesses))
    skill = await asyncio.to_thread(_skill, how.skill, one.skill)
    config, target = bench_config(
        file, harness=how.harness, model=how.model, provider=how.provider, simulated=how.simulated
    )
    if how.workers:
        config = config.model_copy(update={"sandbox": config.sandbox.model_copy(update={"workers": how.workers})})
    found = await asyncio.to_thread(where.open, name)
    tasks = limited(found.tasks, how.split, how.limit)
    _need(found, tasks.open_test() if how.split == "test" else tasks.split(how.split), how.split)
    for line in _notes(found, how):
        output.warn(line)
    async with open_parts(config, progress(output), optimizer=False, harness=target, tasks=tasks) as parts:
        for line in parts.loud:
            output.warn(line)
        await check_target(parts.canary, parts.state / "attempts")
        report = await _score(parts, found, skill, how)
        shown = cell_data(found, report, parts, model=target.model, skill=how.skill, limit=how.limit)
    output.result(shown, lambda console: render_cell(console, shown))
    return 0 if report.decisive else 1


async def _score(parts: Parts, found: BenchSet, skill: Skill | None, how: _How) -> EvaluationReport:
    """Every split is only reported here, so the test split is open."""
    return await evaluate(
        parts.rollouts,
        parts.journal,
        skill,
        parts.tasks,
        split=how.split,
        reporting=True,
        rule=replace(GateRule(), metric=found.benchmark.metric, min_valid=parts.config.train.min_valid),
        path=f"bench/{found.benchmark.name}",
        trial=how.trial,
        purse=parts.purse,
    )


def _skill(asked: str, initial: Path) -> Skill | None:
    """The skill; raises `SkillError`."""
    if asked == "none":
        return None
    skill = read_folder(initial if asked == "initial" else Path(asked))
    validate(skill)
    return skill


def _need(found: BenchSet, tasks: Sequence[Task], split: Split) -> None:
    """Raise `TaskError` if none of the split is here."""
    if not tasks:
        sizes = ", ".join(f"{name} {size['tasks']} of {size['listed']}" for name, size in found.sizes().items())
        raise TaskError(
            f"{found.folder}: no task of split {split} is here ({sizes}): choose another --split, or get more data"
        )


def _notes(found: BenchSet, how: _How) -> list[str]:
    """What a reader of the figure must know before it is paid for."""
    notes = [f"left out: {left.id}: {left.why}" for left in found.left_out_of(how.split)]
    size = found.sizes()[how.split]
    here = size["tasks"] + sum(left.id in found.manifest.splits for left in found.left_out_of(how.split))
    missing = size["listed"] - here
    if missing > 0:
        notes.append(f"{missing} of the {size['listed']} {how.split} items are not here: this is a part of the split")
    return notes
