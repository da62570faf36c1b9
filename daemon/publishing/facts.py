"""What the journal knows about a proposal's steps: fixed and broken tasks, costs, alternatives, the sealed test.

Invariants: reading only; a journal that is gone or older leaves figures unknown and never stops publishing; the sealed
test is told by its figures, never by task.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import structlog

from daemon import __version__
from daemon.config import Config
from daemon.journal.journal import Journal, JournalError
from daemon.journal.sqlite import SqliteJournal
from daemon.optimizer.decision import SlowUpdateDecision, StepDecision
from daemon.places import state_folder
from daemon.readback.costs import Cost, of_step
from daemon.readback.run import RunView, read_run
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
            return await facts_of(journal, proposal)
        finally:
            await journal.close()
    except JournalError as error:
        log.warning("the journal cannot be read: the body does without it", error=str(error))
        return alone


async def facts_of(journal: Journal, proposal: Proposal) -> Facts:
    """The same from an open journal."""
    wanted = {run for run, _, _ in proposal.places}
    views = [await read_run(journal, run) for run in await journal.find_runs() if run.run_id in wanted]
    steps = {place: facts for view in views for place, facts in _steps(view).items() if place in proposal.places}
    last = views[-1] if views else None
    image = last.fingerprint.get(IMAGE, "") if last else ""
    return Facts(
        steps=steps,
        sealed=_sealed(last, proposal) if last else (),
        rejected=tuple(row for view in views for row in _rejected(view)),
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


def _rejected(view: RunView) -> Iterable[RejectedEdit]:
    for step in view.steps:
        if step.outcome == "rejected":
            for edit in step.applied:
                yield _row(step.step, edit, step.reason)
        for refused in step.refused:
            yield _row(step.step, refused.edit, refused.reason)


def _row(step: int, edit: Edit, why: str) -> RejectedEdit:
    return RejectedEdit(step, str(edit.op), edit.content or edit.target, why)


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
