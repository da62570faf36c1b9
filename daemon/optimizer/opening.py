"""Which run this is: the unfinished one with the same fingerprint if its history still stands, else a new one.

A run's id says what it is made of, so that the same start gives the same id on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass

import structlog

from daemon.journal.journal import Journal
from daemon.journal.records import Decision, RunRecord
from daemon.optimizer.settings import Fingerprint
from skills_repo.followed import Followed
from skills_repo.history import RepositoryError, SkillHistory

log = structlog.get_logger(__name__)

FOLLOWED = "followed"
"""The kind of the decision that remembers how a run came to its base."""


@dataclass(frozen=True)
class Opened:
    """The run to work on."""

    run: RunRecord
    resumed: bool
    head: str
    """What the run's next commit goes on top of: others may have left commits beside the skill on what it made."""


@dataclass(frozen=True)
class Opening:
    """Finds or begins runs of one skill."""

    journal: Journal
    history: SkillHistory
    skill: str
    clock: Callable[[], float]
    followed: Followed | None = None
    """What led the branch to where it is, if honed moved it onto a person's version."""

    async def unfinished(self, fingerprint: Fingerprint) -> bool:
        """There is a run to go on with, which what people did beside its branch does not disturb."""
        found = await self.journal.find_open_run(self.skill, fingerprint.digest)
        return found is not None and await self._stands(found, await self.history.base())

    async def open(self, fingerprint: Fingerprint) -> Opened:
        """Resume or begin. Why an unfinished run is not resumed is said; one whose base was moved on from is ended."""
        head = await self.history.base()
        found = await self.journal.find_open_run(self.skill, fingerprint.digest)
        if found is not None and await self._stands(found, head):
            return Opened(found, True, head)
        if found is not None:
            log.warning("the skill was changed since the unfinished run began: a new run starts", run=found.run_id)
            await self.journal.end_run(found.run_id, "failed")
        else:
            await self._say_what_changed(fingerprint)
        run = await self._new(fingerprint.digest, head)
        await self.journal.open_run(run)
        if self.followed is not None and self.followed.new == head:
            await self.journal.save_decision(Decision(run.run_id, 0, FOLLOWED, asdict(self.followed)))
        return Opened(run, False, head)

    async def _say_what_changed(self, fingerprint: Fingerprint) -> None:
        """An unfinished run with another fingerprint stays as it is, for whoever changes back."""
        unfinished = [run for run in await self.journal.find_runs(self.skill) if run.state == "open"]
        if not unfinished:
            return
        run = unfinished[-1]
        baseline = await self.journal.find_decision(run.run_id, 0, "baseline")
        before = dict(baseline.payload["fingerprint"]) if baseline else {}
        now = dict(fingerprint.parts)
        changed = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
        log.warning(
            "the unfinished run had other settings: a new run starts",
            run=run.run_id,
            changed=changed if baseline else ["unknown: it ended before its baseline"],
        )

    async def _new(self, fingerprint: str, head: str) -> RunRecord:
        taken = {run.run_id for run in await self.journal.find_runs()}
        ordinal = 0
        while run_id(fingerprint, head, ordinal) in taken:  # also by a run that was rebuilt from git alone
            ordinal += 1
        return RunRecord(
            run_id=run_id(fingerprint, head, ordinal),
            fingerprint=fingerprint,
            skill=self.skill,
            base_commit=head,
            state="open",
            started=self.clock(),
        )

    async def _stands(self, run: RunRecord, head: str) -> bool:
        """The branch holds what the run left there, and what came on top of that left the skill alone.

        Not the commits' ids alone are asked for but what they hold: whoever amends one keeps its trailers.
        """
        try:
            left, digest = run.base_commit, (await self.history.read(run.base_commit)).digest
        except RepositoryError as error:  # of another clone, or git has cleared it away: no run can go on from there
            log.warning("the unfinished run cannot be found in this repository", run=run.run_id, error=str(error))
            return False
        decisions = await self.journal.decisions(run.run_id)
        noted = {(decision.step, decision.kind) for decision in decisions}
        accepted = [d for d in decisions if d.kind in COMMITS_OF and d.payload.get("outcome") == "accepted"]
        for decision in sorted(accepted, key=_place, reverse=True):
            commits = await self.history.find_step(run.run_id, decision.step, decision.kind)
            if commits:
                left, digest = commits[-1], decision.payload["candidate_digest"]
                break
            if (decision.step, COMMITS_OF[decision.kind]) in noted:  # a person took them off: they are not put back
                return False
        return await self.history.is_ancestor(left, head) and (await self.history.read(head)).digest == digest


COMMITS_OF = {"step": "commits", "slow_update": "slow_update_commits"}
"""Decisions that may be committed (the kind is also the phase), and the kind that remembers the commits."""


def _place(decision: Decision) -> tuple[int, int]:
    """In order of happening: an epoch's slow update comes after its last step."""
    return decision.step, list(COMMITS_OF).index(decision.kind)


def run_id(fingerprint: str, base_commit: str, ordinal: int) -> str:
    """Short and the same for the same start: `r` and twelve hex digits."""
    return "r" + hashlib.sha256(f"{fingerprint}\n{base_commit}\n{ordinal}".encode()).hexdigest()[:12]
