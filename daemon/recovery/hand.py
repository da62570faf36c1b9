"""Carries out what `reconcile` says: thin, in order, each thing such that doing it again changes nothing.

Invariant: an action that cannot be carried out is said and stops none of the others, but where the journal itself
cannot be written; a box that stays is found again by its labels.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from daemon.journal.journal import Journal, JournalError
from daemon.journal.records import Decision
from daemon.optimizer.opening import COMMITS_OF
from daemon.recovery.look import Place, look
from daemon.recovery.reconcile import (
    Abandon,
    Action,
    Collect,
    CompleteCommit,
    DropCommit,
    EndRun,
    NoteCommits,
    Remove,
    RemoveBox,
    reconcile,
)
from daemon.recovery.trees import remove_tree
from daemon.rollouts.salvage import Salvage
from sandboxes.sandbox import Sandbox, SandboxError

log = structlog.get_logger(__name__)


@dataclass
class Recovered:
    """What came of it."""

    removed: list[str] = field(default_factory=list)
    """Boxes and folders that are gone now, for people."""
    salvage: Salvage = field(default_factory=Salvage)
    """Attempts that wait for their score."""
    abandoned: list[str] = field(default_factory=list)
    resume: list[str] = field(default_factory=list)
    """Runs with an accepted step that is not committed yet: they commit it first thing when they go on."""
    dropped: list[str] = field(default_factory=list)
    """Runs that a person has taken an accepted step back from: they will not go on."""
    problems: list[str] = field(default_factory=list)
    """What could not be done, in words: it is tried again the next time."""


async def recover(place: Place, *, engine_required: bool = True) -> Recovered:
    """Look, reconcile, act; nothing of this process is at work in the place, and nobody else's is: its lock is held.

    Raises `JournalError`, and `SandboxError` if the engine does not answer and is required.
    """
    seen = await look(place, engine_required=engine_required)
    done = Recovered()
    if seen.boxes is None:
        done.problems.append("the engine does not answer: boxes that were left are looked for again")
    for action in reconcile(seen):
        await _act(action, place, done)
    return done


async def _act(action: Action, place: Place, done: Recovered) -> None:
    match action:
        case Collect(attempt_id, key):
            log.info("attempt_waits_for_its_score", attempt=attempt_id)
            done.salvage.waiting[key] = attempt_id
        case Abandon(attempt_id, why):
            log.info("attempt_abandoned", attempt=attempt_id, reason=why)
            await place.journal.abandon_attempts((attempt_id,))
            done.abandoned.append(attempt_id)
        case EndRun(run_id, why):
            await _end_run(place.journal, run_id, why)
        case NoteCommits(run_id, step, phase, commits):
            log.info("commits_noted", run=run_id, step=step, phase=phase, commits=list(commits))
            note = Decision(run_id, step, COMMITS_OF[phase], {"commits": list(commits)})
            await place.journal.save_decision(note)
        case CompleteCommit(run_id, step, phase):
            log.warning("commit_to_complete", run=run_id, step=step, phase=phase)
            done.resume += [] if run_id in done.resume else [run_id]
        case DropCommit(run_id, step, phase):
            log.warning("commit_taken_back", run=run_id, step=step, phase=phase)
            done.dropped += [] if run_id in done.dropped else [run_id]
        case RemoveBox(name, why):
            await _remove_box(place.sandbox, name, why, done)
        case Remove(path):
            await _remove(path, done)


async def _end_run(journal: Journal, run_id: str, why: str) -> None:
    try:
        await journal.end_run(run_id, "failed")
        log.info("run_ended", run=run_id, state="failed", reason=why)
    except JournalError:
        # Ended meanwhile, and otherwise: then there is nothing to end.
        if any(run.run_id == run_id and run.state == "open" for run in await journal.find_runs()):
            raise


async def _remove_box(sandbox: Sandbox | None, name: str, why: str, done: Recovered) -> None:
    assert sandbox is not None, "boxes were seen"
    try:
        if await sandbox.remove(name):
            log.info("box_removed", box=name, reason=why)
            done.removed.append(name)
    except SandboxError as error:
        log.warning("box_not_removed", box=name, error=str(error))
        done.problems.append(str(error))


async def _remove(path: Path, done: Recovered) -> None:
    problem = await asyncio.to_thread(remove_tree, path)
    if problem:
        log.warning("scratch_not_removed", path=str(path), error=problem)
        done.problems.append(problem)
