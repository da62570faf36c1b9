"""A step for people: from the batch to the verdict, in the order in which it happened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

from daemon.cli.show_parts import STYLES, change, cost_table, edit_text, figure, grid, heading, money, safe
from sandboxes.gateway.policy import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from daemon.journal.records import ReplyRecord
    from daemon.optimizer.decision import StepDecision
    from daemon.readback.run import RunView
    from daemon.readback.step import StepView


def render_step(console: Console, run: RunView, view: StepView) -> None:
    """The whole step."""
    step = view.decision
    console.print(
        Text.assemble(
            (f"step {step.step} of run {run.run.run_id}", "bold"),
            f", epoch {step.epoch}: ",
            (step.outcome.replace("_", " "), STYLES.get(step.outcome, "yellow")),
        )
    )
    console.print(safe(step.reason))
    console.print(safe(f"skill {step.base_digest[:19]}, edit budget {step.budget}"))
    _batch(console, view)
    _buffer(console, view)
    _reflections(console, view)
    for title, replies in (("merges", view.merges), ("ranking", view.ranking), ("other replies", view.others)):
        if replies:
            heading(console, title)
            for reply in replies:
                _reply(console, reply)
    _edits(console, step)
    _gate(console, step)
    _rest(console, run, view)


def _batch(console: Console, view: StepView) -> None:
    rollout = view.decision.rollout
    heading(console, f"batch: {rollout.solved} solved of {rollout.valid} valid of {rollout.asked}")
    table = grid("task", "verdict", "score", "outcome", "")
    for row in view.batch:
        record = row.row.record if row.row else None
        verdict = "-" if record is None or record.score is None else ("solved" if record.hard else "failed")
        score = figure(record.score) if record else "-"
        outcome = record.outcome if record else "not in the journal"
        table.add_row(safe(row.task), verdict, score, safe(outcome), "read back" if row.reused else "")
    console.print(table)


def _buffer(console: Console, view: StepView) -> None:
    if not view.buffer:
        return
    heading(console, "what its reflections knew of earlier steps")
    for entry in view.buffer:
        console.print(safe(f"step {entry.step} {entry.outcome} {change(entry.before, entry.after)}"))
        for edit in entry.rejected:
            console.print(
                Text.assemble("  rejected ", safe(f"{edit.get('op')}: {edit.get('content') or edit.get('target')}"))
            )
        for pattern in entry.patterns:
            console.print(Text.assemble("  pattern ", safe(f"{pattern.get('type')} ({pattern.get('count')})")))


def _reflections(console: Console, view: StepView) -> None:
    if not view.reflections:
        return
    heading(console, "minibatches and their patches")
    for one in view.reflections:
        if one.tasks:
            console.print(safe(f"{one.reply.place}: {', '.join(one.tasks)}"))
        _reply(console, one.reply)


def _reply(console: Console, record: ReplyRecord) -> None:
    """One reply of the optimizer, at its place."""
    row = record.reply
    usage = Usage(**row["usage"])
    console.print(Text.assemble((f"{record.place}", "bold"), f"  {usage.tokens:,} tokens, {money(usage)}"))
    if row.get("error"):
        console.print(Text.assemble("  dropped: ", safe(row["error"])))
    reply: Mapping[str, Any] = row.get("reply") or {}
    for name, value in reply.items():
        if name in ("edits", "corrections", "suggestions") and isinstance(value, list):
            for number, edit in enumerate(value):
                console.print(Text.assemble(f"  {name[:-1]} {number}: ", safe(_edit_row(edit))))
        elif name == "patterns" and isinstance(value, list):
            for pattern in value:
                console.print(Text.assemble("  pattern ", safe(_pattern_row(pattern))))
        elif value not in (None, "", [], {}):
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            console.print(Text.assemble(f"  {name}: ", safe(shown, width=600)))


def _edit_row(edit: Any) -> str:
    if not isinstance(edit, dict) or "op" not in edit:
        return json.dumps(edit, ensure_ascii=False)
    target = f" @ {edit['target']}" if edit.get("target") else ""
    support = f" (support {edit['support']})" if "support" in edit else ""
    evidence = f" [{', '.join(map(str, edit['evidence']))}]" if edit.get("evidence") else ""
    return f"{edit['op']}{target}: {edit.get('content', '')}{support}{evidence}"


def _pattern_row(pattern: Any) -> str:
    if not isinstance(pattern, dict):
        return str(pattern)
    return f"{pattern.get('type')} ({pattern.get('count')}): {pattern.get('description')}"


def _edits(console: Console, step: StepDecision) -> None:
    if not step.proposed:
        return
    heading(
        console, f"edits: {len(step.proposed)} after merging, {len(step.chosen)} chosen, {len(step.applied)} applied"
    )
    table = grid("", "edit", "why")
    for row in step.refused:
        table.add_row(Text("refused", style="yellow"), edit_text(row.edit), safe(row.reason))
    chosen = [(edit.op, edit.target, edit.content) for edit in step.chosen]
    refused = [(row.edit.op, row.edit.target, row.edit.content) for row in step.refused]
    for edit in step.proposed:
        if (edit.op, edit.target, edit.content) not in chosen + refused and not step.report:
            table.add_row(Text("not tried", style="yellow"), edit_text(edit), safe(step.reason))
        elif (edit.op, edit.target, edit.content) not in chosen + refused:
            table.add_row(
                Text("not chosen", style="yellow"), edit_text(edit), safe(f"over the budget of {step.budget}")
            )
    for applied in step.report:
        status = str(applied.status)
        detail = safe(applied.detail or applied.edit.rationale)
        table.add_row(
            Text(status.replace("_", " "), style=STYLES.get(status, "yellow")), edit_text(applied.edit), detail
        )
    console.print(table)


def _gate(console: Console, step: StepDecision) -> None:
    verdict = step.verdict
    if verdict is None:
        return
    heading(console, f"gate: {verdict.ruling} {change(verdict.before, verdict.after)}")
    console.print(safe(verdict.rule))
    if verdict.rows:
        table = grid("task", "before", "trials", "after", "trials", "")
        for row in verdict.rows:
            marks = [
                *(["fixed"] if row.id in verdict.fixed else []),
                *(["broken"] if row.id in verdict.broken else []),
                *(["protected"] if row.protect else []),
            ]
            before, after = figure(row.before), figure(row.after)
            table.add_row(safe(row.id), before, str(row.before_trials), after, str(row.after_trials), ", ".join(marks))
        console.print(table)
    else:
        for name, ids in (("fixed", verdict.fixed), ("broken", verdict.broken)):
            if ids:
                console.print(safe(f"{name}: {', '.join(ids)}"))
    for number, look in enumerate(verdict.looks, start=1):
        evidence = "" if look.evidence is None else f", p = {look.evidence:.4f}"
        score = change(look.before, look.after)
        console.print(safe(f"look {number}: {look.attempts} attempts, {score}{evidence}: {look.reason}"))


def _rest(console: Console, run: RunView, view: StepView) -> None:
    if view.decision.notes:
        heading(console, "notes")
        for note in view.decision.notes:
            console.print(safe(note))
    if view.commits:
        heading(console, "commits")
        console.print(safe(", ".join(view.commits)))
    heading(console, "costs")
    console.print(cost_table(cost for cost in run.costs if cost.step == view.decision.step))
    usage = view.decision.optimizer_usage
    console.print(f"optimizer, as decided: {usage.requests:,} requests, {usage.tokens:,} tokens, {money(usage)}")
