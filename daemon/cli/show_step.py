"""A step for people: from the batch to the verdict, in the order in which it happened."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.text import Text

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
from daemon.optimizer.report import edit_fates
from sandboxes.gateway.policy import Usage
from skills_repo.skill import SKILL_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from daemon.journal.records import ReplyRecord
    from daemon.optimizer.decision import StepDecision
    from daemon.readback.run import RunView
    from daemon.readback.step import StepView
    from skills_repo.edits import Edit

_MOST_EDIT, _MOST_WHY = 500, 300
"""Characters that are shown."""


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
    console.print(safe(f"skill {step.base_digest[:19]}, edit budget {budget_text(step.budget)}"))
    _batch(console, view)
    _buffer(console, view)
    _reflections(console, view)
    for title, replies in (("merges", view.merges), ("ranking", view.ranking), ("other replies", view.others)):
        if replies:
            heading(console, title)
            for reply in replies:
                _reply(console, reply)
    _edits(console, step)
    render_verdict(console, step.verdict)
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
        for group in entry.groups:
            console.print(safe(f"  group {group.name} ({group.tasks} tasks) {change(group.before, group.after)}"))
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
                console.print(Text.assemble(f"  {name[:-1]} {number}: ", safe(_edit_row(edit), width=_MOST_EDIT)))
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
    where = f" in {edit['file']}" if edit.get("file", SKILL_FILE) != SKILL_FILE else ""
    link = f" (link: {edit['link']})" if edit.get("link") else ""
    return f"{edit['op']}{where}{target}: {edit.get('content', '')}{link}{support}{evidence}"


def _pattern_row(pattern: Any) -> str:
    if not isinstance(pattern, dict):
        return str(pattern)
    return f"{pattern.get('type')} ({pattern.get('count')}): {pattern.get('description')}"


def _edits(console: Console, step: StepDecision) -> None:
    if not (step.proposed or step.report or step.refused):
        return
    heading(
        console, f"edits: {len(step.proposed)} after merging, {len(step.chosen)} chosen, {len(step.applied)} applied"
    )
    for fate in edit_fates([step], {}):
        if fate.fate in ("refused", "not_chosen"):
            _fate(console, Text(fate.fate.replace("_", " "), style="yellow"), fate.edit, fate.reason)
    for row in step.report:
        status = Text(str(row.status).replace("_", " "), style=STYLES.get(str(row.status), "yellow"))
        _fate(console, status, row.edit, row.detail or row.edit.rationale)
    for flag in step.flagged:
        console.print(Text.assemble(("look at this: ", "yellow"), safe(flag, width=_MOST_WHY)))
    if step.shares:
        shares = ", ".join(f"{share:+.3f}" for share in step.shares)
        console.print(safe(f"what each applied edit carries: {shares}"))
    for name, value in step.record.items():
        console.print(safe(f"{name}: {json.dumps(value, ensure_ascii=False)}", width=600))


def _fate(console: Console, status: Text, edit: Edit, why: str) -> None:
    """An edit and what became of it; `--json` has the whole text of a long one."""
    console.print(Text.assemble(status, " ", edit_text(edit, width=_MOST_EDIT)))
    if why.strip():
        console.print(Text.assemble("    ", safe(why, width=_MOST_WHY)))


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
    console.print(f"optimizer, as decided: requests {usage.requests:,}, tokens {usage.tokens:,}, {money(usage)}")
