"""A run for people: what it is made of, a line for each step, what it cost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from daemon.cli.show_data import sum_of
from daemon.cli.show_parts import STYLES, change, cost_table, figure, grid, heading, money, safe
from daemon.readback.costs import by_phase, of_step
from daemon.readback.find import is_evaluation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from daemon.readback.run import RunView


def render_run(console: Console, view: RunView) -> None:
    """The whole run."""
    _head(console, view)
    if is_evaluation(view.run):
        _evaluated(console, view)
    else:
        _trained(console, view)
    heading(console, "costs")
    console.print(cost_table((*by_phase(view.costs), sum_of(view.costs))))
    if view.processes:
        console.print(f"{view.wall_s:,.0f} s of work in {view.processes} process{'es' if view.processes > 1 else ''}")


def _head(console: Console, view: RunView) -> None:
    run = view.run
    what = run.fingerprint if is_evaluation(run) else "training"
    started = datetime.fromtimestamp(run.started, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    console.print(Text.assemble((run.run_id, "bold"), f" {what} of ", safe(run.skill), f": {run.state}"))
    console.print(safe(f"started {started} from commit {run.base_commit[:10] or '(no skill)'}"))
    if view.fingerprint:
        heading(console, "fingerprint")
        table = grid("part", "value")
        for name, value in view.fingerprint.items():
            table.add_row(safe(name), safe(value, width=100))
        console.print(table)


def _trained(console: Console, view: RunView) -> None:
    baseline = view.baseline
    heading(console, "baseline")
    if baseline is None or baseline.measured is None:
        console.print("not measured yet" if baseline is None else "not measured: the gate is off")
    else:
        found = baseline.measured
        trials = f", {baseline.pool.count} trials a task" if baseline.pool.count > 1 else ""
        console.print(f"{figure(found.score)} on {found.n} of {found.of} selection tasks{trials}")
    if view.steps:
        _steps(console, view)
    for decision in view.epochs:
        heading(console, f"{decision.kind.replace('_', ' ')} after step {decision.step}")
        _payload(console, decision.payload)
    _test(console, view)


def _steps(console: Console, view: RunView) -> None:
    heading(console, "steps (edits: proposed/chosen/applied)")
    table = grid("step", "epoch", "outcome", "edits", "budget", "score", "attempts", "tokens", "money", "why")
    for step in view.steps:
        verdict, cost = step.verdict, of_step(view.costs, step.step)
        table.add_row(
            str(step.step),
            str(step.epoch),
            safe(step.outcome.replace("_", " "), STYLES.get(step.outcome, "yellow")),
            f"{len(step.proposed)}/{len(step.chosen)}/{len(step.applied)}",
            str(step.budget),
            change(verdict.before, verdict.after) if verdict else "-",
            str(cost.attempts),
            f"{cost.usage.tokens:,}",
            money(cost.usage),
            safe(step.reason if verdict is None else f"{len(verdict.fixed)} fixed, {len(verdict.broken)} broken"),
        )
    console.print(table)
    for number, commits in sorted(view.commits.items()):
        console.print(safe(f"step {number} committed {', '.join(sha[:10] for sha in commits)}"))


def _payload(console: Console, payload: Mapping[str, Any]) -> None:
    """A decision of a kind without a view of its own: field by field."""
    for name, value in payload.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if name != "when" and value not in (None, "", [], {}):
            console.print(Text.assemble(f"  {name}: ", safe(shown, width=600)))


def _test(console: Console, view: RunView) -> None:
    """The report's figures; tasks of the sealed split are never told one by one."""
    heading(console, "sealed test")
    if view.final is None:
        console.print("reserved, not scored yet" if view.test_reserved else "not opened")
        return
    for name in ("before", "after"):
        found = view.final.get(name) or {}
        console.print(f"{name} {figure(found.get('score'))} on {found.get('n')} of {found.get('of')} tasks")


def _evaluated(console: Console, view: RunView) -> None:
    """Results by task, unless they are of the sealed test."""
    records = [row.record for row in view.attempts]
    valid = [record.score for record in records if record.score is not None]
    heading(console, "results of this run's own attempts (what was read back is not among them)")
    mean = figure(sum(valid) / len(valid)) if valid else "-"
    console.print(f"{len(records)} attempts, {len(valid)} valid, mean score {mean}")
    if view.run.fingerprint.endswith("test"):
        return
    table = grid("task", "outcome", "score")
    for record in sorted(records, key=lambda record: record.task_id):
        table.add_row(safe(record.task_id), safe(record.outcome), figure(record.score))
    console.print(table)
