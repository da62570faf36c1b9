"""Looks at journal, engine, folders and git, and gives `reconcile` what it needs. Changes nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

from daemon.journal.journal import Journal
from daemon.optimizer.opening import COMMITS_OF
from daemon.optimizer.scoring_run import trains
from daemon.recovery.reconcile import Accepted, Evidence, Leftover, OpenRun, Phase, Seen
from daemon.rollouts.receipt import read_receipt
from sandboxes.left import LeftBox
from sandboxes.sandbox import Sandbox, SandboxError
from skills_repo.history import RepositoryError, SkillHistory

CANARIES = "canary-*"
"""Attempts that only try whether a provider answers."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Place:
    """One state folder and what belongs to it. Whoever looks holds the state folder's lock."""

    state: Path
    journal: Journal
    sandbox: Sandbox | None
    """None: nothing runs in a box here."""
    history: SkillHistory | None
    """None: no commits are looked for."""
    skill: str
    """Key of the history's skill in the journal."""

    @property
    def attempts(self) -> Path:
        """Where attempts' folders are."""
        return self.state / "attempts"


async def look(place: Place, *, engine_required: bool = True) -> Seen:
    """Look at everything. Raises `SandboxError` if the engine does not answer and is required."""
    planned = await place.journal.unfinished_attempts()
    runs = [run for run in await place.journal.find_runs() if run.state == "open"]
    return Seen(
        now=time.time(),
        planned=planned,
        stale=frozenset(await place.journal.unfinished_attempts(of_ended_runs=True)),
        receipts=await asyncio.to_thread(_receipts, place.attempts, planned),
        boxes=await _boxes(place.sandbox, required=engine_required),
        runs=tuple(OpenRun(run.run_id, trains(run)) for run in runs),
        accepted=await _accepted(place, [run.run_id for run in runs if trains(run) and run.skill == place.skill]),
        leftovers=await asyncio.to_thread(_leftovers, place.state),
    )


def _receipts(attempts: Path, ids: Iterable[str]) -> dict[str, str]:
    found = {attempt_id: read_receipt(attempts / attempt_id) for attempt_id in ids}
    return {
        attempt_id: receipt.record.key
        for attempt_id, receipt in found.items()
        if receipt is not None and receipt.record.attempt_id == attempt_id
    }


async def _boxes(sandbox: Sandbox | None, *, required: bool) -> tuple[LeftBox, ...] | None:
    if sandbox is None:
        return ()
    try:
        return await sandbox.boxes()
    except SandboxError as error:
        if required:
            raise
        log.warning("engine_not_seen", action="reconcile", error=str(error))
        return None


async def _accepted(place: Place, run_ids: list[str]) -> tuple[Accepted, ...]:
    """Of each run, the decisions whose commits are not noted, and the newest that is."""
    found: list[Accepted] = []
    for run_id in run_ids:
        decisions = await place.journal.decisions(run_id)
        notes = {(one.step, one.kind) for one in decisions}
        judged = [one for one in decisions if one.kind in COMMITS_OF and one.payload.get("outcome") == "accepted"]
        noted = [one for one in judged if (one.step, COMMITS_OF[one.kind]) in notes]
        for one in [each for each in judged if each not in noted] + noted[-1:]:
            commits = await _commits(place.history, run_id, one.step, one.kind)
            phase: Phase = "step" if one.kind == "step" else "slow_update"
            found.append(Accepted(run_id, one.step, phase, one in noted, commits))
    return tuple(found)


async def _commits(history: SkillHistory | None, run_id: str, step: int, kind: str) -> tuple[str, ...] | None:
    if history is None:
        return None
    try:
        return await history.find_step(run_id, step, kind)
    except RepositoryError as error:
        log.warning("repository_not_read", action="reconcile", run=run_id, error=str(error))
        return None


def _leftovers(state: Path) -> tuple[Leftover, ...]:
    """The lock says that no other honed is at work here."""
    found = [*_in(state / "scratch", "*"), *_in(state / "attempts", CANARIES)]
    return tuple(Leftover(path, Evidence.DEAD) for path in sorted(found))


def _in(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern)) if folder.is_dir() else []
