"""What the journal knows about a proposal's steps: fixed and broken tasks, costs, alternatives, the sealed test.

Invariants: reading only; a journal that is gone or older leaves figures unknown and never stops publishing; the sealed
test is told by its figures, never by task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import structlog

from daemon import __version__
from daemon.config import Config
from daemon.journal.journal import Journal, JournalError
from daemon.journal.sqlite import SqliteJournal
from daemon.optimizer.decision import SlowUpdateDecision, StepDecision
from daemon.places import state_folder
from daemon.publishing.excerpts import Known, excerpts_of, open_known
from daemon.readback.costs import Cost, of_step
from daemon.readback.run import RunView, read_run
from daemon.redaction import redact
from skills_repo.edits import Edit
from skills_repo.publish.facts import Facts, Figures, Place, RejectedEdit, StepFacts
from skills_repo.publish.proposal import Proposal

log = structlog.get_logger(__name__)

IMAGE = "target.image"
"""Where a run's fingerprint has the sandbox image."""


async def gather(config: Config, proposal: Proposal) -> Facts:
    """Everything known beyond the commits; what cannot be read is left unknown, and logged."""
    file = state_folder(config) / "journal.sqlite"
    alone = Facts(versions={"honed": __version__})
    if not await asyncio.to_thread(file.exists):
        return alone
    try:
        journal = SqliteJournal(file, read_only=True)
        try:
            return await facts_of(journal, proposal, lambda: open_known(config))
        finally:
            await journal.close()
    except JournalError as error:
        log.warning("the journal cannot be read: the body does without it", error=str(error))
        return alone


async def no_tasks() -> Known | None:
    """The tasks are not there."""
    return None


async def facts_of(
    journal: Journal, proposal: Proposal, opened: Callable[[], Awaitable[Known | None]] = no_tasks
) -> Facts:
    """The same from an open journal; without the tasks, no excerpts and no text of refused edits."""
    wanted = {run for run, _, _ in proposal.places}
    views = [await read_run(journal, run) for run in await journal.find_runs() if run.run_id in wanted]
    steps = {place: facts for view in views for place, facts in _steps(view).items() if place in proposal.places}
    last = views[-1] if views else None
    known = await opened() if views else None
    image = last.fingerprint.get(IMAGE, "") if last else ""
    return Facts(
        steps=steps,
        sealed=_sealed(last, proposal) if last else (),
        rejected=tuple(row for view in views for row in _rejected(view, proposal, known)),
        excerpts=await excerpts_of(journal, views, proposal, known) if known else (),
        versions={"honed": __version__, **({"sandbox image": image} if image else {})},
    )


def _steps(view: RunView) -> dict[Place, StepFacts]:
    found: dict[Place, StepFacts] = {}
    for step in view.steps:
        if step.verdict is not None:
            cost = of_step(view.costs, step.step)
            found[view.run.run_id, step.step, "step"] = _facts(step, cost)
    for update in view.slow_updates:
        if update.verdict is not None:
            found[view.run.run_id, update.step, "slow_update"] = _facts(update, None)
    return found


def _facts(judged: StepDecision | SlowUpdateDecision, cost: Cost | None) -> StepFacts:
    assert judged.verdict is not None
    return StepFacts(
        fixed=judged.verdict.fixed,
        broken=judged.verdict.broken,
        tokens=cost.usage.tokens if cost else None,
        usd=cost.usage.usd if cost else None,
    )


def _rejected(view: RunView, proposal: Proposal, known: Known | None) -> Iterable[RejectedEdit]:
    """What a gate turned down, and what was not even tried: that may be refused for the very text that it has."""
    for step in view.steps:
        if step.outcome == "rejected":
            for edit in step.applied:
                yield RejectedEdit(step.step, str(edit.op), redact(_text(edit)), redact(step.reason))
        for refused in step.refused:
            op, text = str(refused.edit.op), _text(refused.edit)
            if known is not None and known.about(view) and known.may_show(text, proposal.before):
                yield RejectedEdit(step.step, op, text, redact(refused.reason))
            else:
                yield RejectedEdit(step.step, op, "", "it was refused before it was tried")


def _text(edit: Edit) -> str:
    return edit.said


def _sealed(view: RunView, proposal: Proposal) -> tuple[Figures, ...]:
    """The sealed test, if the run scored these very skills."""
    reserved = next((dict(d.payload) for d in view.decisions if d.kind == "test_reserved"), {})
    if view.final is None or reserved != {"initial": proposal.before.digest, "best": proposal.after.digest}:
        return ()
    before, after = (_side(view.final, name) for name in ("before", "after"))
    if before is None or after is None:
        return ()
    tasks, of = after[1], after[2]
    return (Figures("test (sealed)", tasks, 1, before[0], after[0], valid=tasks / of if of else None),)


def _side(final: Mapping[str, Any], name: str) -> tuple[float, int, int] | None:
    side = final.get(name)
    if not isinstance(side, Mapping) or not isinstance(side.get("score"), int | float):
        return None
    return float(side["score"]), int(side.get("n", 0)), int(side.get("of", 0))
