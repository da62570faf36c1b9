"""A run for people: what it is made of, a line for each step, what it cost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from daemon.cli.show_data import sum_of
from daemon.cli.show_gate import render_verdict
from daemon.cli.show_parts import (
    STYLES,
    budget_text,
    change,
    cost_table,
    edit_text,
    figure,
    grid,
    heading,
    money,
    safe,
)
from daemon.optimizer.scoring_run import trains
from daemon.readback.costs import by_phase, of_step
from daemon.training.following import in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from daemon.optimizer.decision import SlowUpdateDecision
    from daemon.readback.run import RunView


def render_run(console: Console, view: RunView) -> None:
    """The whole run."""
    _head(console, view)
    if trains(view.run):
        _trained(console, view)
    else:
        _evaluated(console, view)
    heading(console, "costs")
    console.print(cost_table((*by_phase(view.costs), sum_of(view.costs))))
    if view.processes:
        console.print(f"{view.wall_s:,.0f} s of work in {view.processes} process{'es' if view.processes > 1 else ''}")


def _head(console: Console, view: RunView) -> None:
    run = view.run
    what = "training" if trains(run) else run.fingerprint
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
    _people(console, view)
    _baseline(console, view)
    if view.steps:
        _steps(console, view)
    for update in view.slow_updates:
        _slow_update(console, view, update)
    for notes in view.meta_skills:
        heading(console, f"meta skill after epoch {notes.epoch}")
        for line in notes.content.splitlines():
            console.print(safe(line))
        for note in notes.notes:
            console.print(safe(f"note: {note}"))
    for decision in view.others:
        heading(console, f"{decision.kind.replace('_', ' ')} after step {decision.step}")
        _payload(console, decision.payload)
    _test(console, view)


def _people(console: Console, view: RunView) -> None:
    """What people had done in git when it began."""
    if view.followed is not None:
        heading(console, "began from a person's version")
        for line in in_words(view.followed, view.run.skill, "the branch"):
            console.print(safe(line))
    if view.turned_down:
        heading(console, "turned down by people")
        for one in view.turned_down:
            text = one.edit.content or one.edit.target
            console.print(safe(f"{one.commit[:10]} {one.edit.op}: {text}: {one.reason or 'no reason given'}"))


def _baseline(console: Console, view: RunView) -> None:
    heading(console, "baseline")
    if view.baseline is None:
        console.print("not measured yet")
        return
    found, trials = view.baseline.measured, view.baseline.pool.count
    if found is None:
        console.print("not measured: the gate is off")
    else:
        often = f", {trials} trials a task" if trials > 1 else ""
        console.print(f"{figure(found.score)} on {found.n} of {found.of} selection tasks{often}")


def _slow_update(console: Console, view: RunView, update: SlowUpdateDecision) -> None:
    forced = ", forced" if update.forced else ""
    heading(console, f"slow update after epoch {update.epoch}: {update.outcome.replace('_', ' ')}{forced}")
    console.print(safe(update.reason))
    groups = ("improved", "regressed", "persistent_failure", "stable_success")
    counts = ", ".join(f"{len(getattr(update, group))} {group.replace('_', ' ')}" for group in groups)
    console.print(safe(f"{len(update.sampled)} train tasks under the skills of two epochs: {counts}"))
    for group in groups[1:3]:
        if getattr(update, group):
            console.print(safe(f"{group.replace('_', ' ')}: {', '.join(getattr(update, group))}"))
    for row in update.refused:
        console.print(Text.assemble("refused ", edit_text(row.edit), safe(f": {row.reason}")))
    for applied in update.report:
        console.print(Text.assemble(f"{applied.status} ", edit_text(applied.edit)))
    for flag in update.flagged:
        console.print(Text.assemble(("look at this: ", "yellow"), safe(flag)))
    render_verdict(console, update.verdict)
    for note in update.notes:
        console.print(safe(f"note: {note}"))
    if commits := view.slow_commits.get(update.step):
        console.print(safe(f"committed {', '.join(sha[:10] for sha in commits)}"))


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
            budget_text(step.budget),
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
