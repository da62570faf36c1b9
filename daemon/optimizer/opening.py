"""Which run this is: the unfinished one with the same fingerprint if its history still stands, else a new one.

A run's id says what it is made of, so that the same start gives the same id on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from daemon.journal.journal import Journal
from daemon.journal.records import RunRecord
from skills_repo.history import SkillHistory

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Opened:
    """The run to work on."""

    run: RunRecord
    resumed: bool


@dataclass(frozen=True)
class Opening:
    """Finds or begins runs of one skill."""

    journal: Journal
    history: SkillHistory
    skill: str
    clock: Callable[[], float]

    async def open(self, fingerprint: str) -> Opened:
        """Resume or begin. An unfinished run whose base somebody moved on from is ended, and that is said."""
        head = await self.history.base()
        found = await self.journal.find_open_run(self.skill, fingerprint)
        if found is not None and await self._stands(found, head):
            return Opened(found, resumed=True)
        if found is not None:
            log.warning("the skill was changed since the unfinished run began: a new run starts", run=found.run_id)
            await self.journal.end_run(found.run_id, "failed")
        run = await self._new(fingerprint, head)
        await self.journal.open_run(run)
        return Opened(run, resumed=False)

    async def _new(self, fingerprint: str, head: str) -> RunRecord:
        earlier = await self.journal.find_runs(self.skill)
        ordinal = sum(run.fingerprint == fingerprint and run.base_commit == head for run in earlier)
        return RunRecord(
            run_id=run_id(fingerprint, head, ordinal),
            fingerprint=fingerprint,
            skill=self.skill,
            base_commit=head,
            state="open",
            started=self.clock(),
        )

    async def _stands(self, run: RunRecord, head: str) -> bool:
        """The branch is where the run left it, or what came on top of its base left the skill alone."""
        if head == run.base_commit:
            return True
        accepted = [d for d in await self.journal.decisions(run.run_id) if d.payload.get("outcome") == "accepted"]
        for decision in reversed(accepted):
            commits = await self.history.find_step(run.run_id, decision.step)
            if commits:
                return commits[-1] == head
        if not await self.history.is_ancestor(run.base_commit, head):
            return False
        return (await self.history.read(run.base_commit)).digest == (await self.history.read(head)).digest


def run_id(fingerprint: str, base_commit: str, ordinal: int) -> str:
    """Short and the same for the same start: `r` and twelve hex digits."""
    return "r" + hashlib.sha256(f"{fingerprint}\n{base_commit}\n{ordinal}".encode()).hexdigest()[:12]
