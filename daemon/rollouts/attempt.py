"""One task, one skill: plan, run, score, record, and try again where a failure of ours is worth it.

Order of durability: the plan is journaled before any side effect, the result before anyone uses it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from daemon.budget.purse import OpenPurse, Purse, Spend
from daemon.journal.journal import Journal
from daemon.journal.records import AttemptKey, AttemptRecord
from daemon.rollouts.progress import AttemptFinished, AttemptStarted, Observer
from daemon.rollouts.receipt import read_receipt, result_of, write_receipt
from daemon.rollouts.result import usage_of
from daemon.rollouts.salvage import Salvage
from daemon.rollouts.scoring import Judge, Verifier, left_by, record_of, remembered
from daemon.rollouts.stepwise import Stepwise
from daemon.rollouts.stop import Breaker, disk_full, stopped
from daemon.tasks.episodes.opening import episode_of
from daemon.tasks.task import Task, limits_for
from harnesses.harness import Activation, Assignment, Harness, RenderedSkill
from harnesses.outcome import POLICIES, Outcome
from sandboxes.disk import is_full
from skills_repo.skill import Skill

log = structlog.get_logger(__name__)

Sleep = Callable[[float], Awaitable[None]]
Room = Callable[[], Awaitable[None]]
"""Returns once the disk has room for another attempt; raises `RunStopped` where nobody waits for it."""


async def always() -> None:
    """A `Room` that asks nothing."""


@dataclass(frozen=True)
class AttemptSettings:
    """How attempts are made."""

    activation: Activation = "explicit"
    max_turns: int = 50
    tries: int = 3
    """Tries of one attempt while its outcome is a failure of ours."""
    backoff_s: float = 1.0
    """Wait before the second try; doubled for each further one, at most 30 s."""
    image_digest: str = ""
    """The engine's image: part of the key; empty for chat."""
    runtime: str = ""
    """What starts boxes, where that is not the engine's default; part of the key then."""
    judge: str = ""
    """Who judges rubrics (`provider/model`); part of the key where somebody does."""

    def key_part(self) -> dict[str, str]:
        """What of this decides an attempt's result."""
        part = {"activation": self.activation, "max_turns": str(self.max_turns), "image": self.image_digest}
        if self.runtime:
            part["runtime"] = self.runtime
        return {**part, "judge": self.judge} if self.judge else part


class Attempts:
    """Makes attempts, one task at a time. Concurrency is the caller's."""

    def __init__(
        self,
        harness: Harness,
        verifier: Verifier,
        journal: Journal,
        *,
        folder: Path,
        settings: AttemptSettings,
        observer: Observer,
        sleep: Sleep = asyncio.sleep,
        purse: Purse | None = None,
        salvage: Salvage | None = None,
        room: Room = always,
    ) -> None:
        self._harness = harness
        self._journal = journal
        self._folder = folder
        self._settings = settings
        self._observer = observer
        self._sleep = sleep
        self._purse = purse or OpenPurse()
        self._salvage = salvage or Salvage()
        self._room = room
        self._judge = Judge(verifier, settings.tries, self._wait)
        self._stepwise = Stepwise(harness, self._judge)
        self._breaker = Breaker()
        self._key_settings = {**harness.settings(), **settings.key_part()}

    @property
    def key_settings(self) -> dict[str, str]:
        """What decides results besides skill and task: part of every key, and of a run's fingerprint."""
        return dict(self._key_settings)

    def key(self, skill: Skill | None, task: Task, trial: int) -> AttemptKey:
        """The content that decides the result."""
        digest = skill.digest if skill else ""
        return AttemptKey(digest, task.digest, self._harness.name, self._key_settings, trial)

    async def measure(self, skill: Skill | None, task: Task, key: AttemptKey, run_id: str) -> AttemptRecord:
        """Run until a score stands or the tries are used up.

        Raises `RunStopped` where no retry can help, and `BudgetReached` before an attempt that may not be paid.
        """
        number = 1
        while True:
            record = await self._collect(task, key) or await self._once(skill, task, key, run_id, number)
            outcome = Outcome(record.outcome)
            if POLICIES[outcome].stop_run:
                raise stopped(record, self._key_settings)
            if record.score is None and await asyncio.to_thread(is_full, self._folder):
                raise disk_full(record, self._folder)
            # A failed verifier was tried again already: running the agent again would pay twice.
            worth = POLICIES[outcome].retry and outcome is not Outcome.VERIFIER_FAILED
            if not worth or number >= self._settings.tries:
                break
            await self._wait(number)
            number += 1
        if self._breaker.note(record):
            raise stopped(record, self._key_settings, tries=number)
        return record

    async def _once(self, skill: Skill | None, task: Task, key: AttemptKey, run_id: str, number: int) -> AttemptRecord:
        await self._room()
        attempt_id = f"{run_id}-{uuid.uuid4().hex[:12]}"
        async with self._purse.spending("target") as spend:
            await self._journal.plan_attempt(attempt_id, run_id, task.id, key)
            self._observer.notify(AttemptStarted(attempt_id, task.id, self._harness.name, number))
            given = await asyncio.to_thread(self._assignment, attempt_id, skill, task, key.trial)
            if task.steps:
                record = await self._stepwise.run(given, task, key, spend)
            else:
                record = await self._whole(given, task, key, spend)
            spend.usage = usage_of(record)
            record = await asyncio.to_thread(remembered, record)
            await self._journal.finish_attempt(record)
        self.tell(record, reused=False)
        return record

    async def _whole(self, given: Assignment, task: Task, key: AttemptKey, spend: Spend) -> AttemptRecord:
        """One run of the agent, and its score."""
        attempt = await self._harness.run(given)
        spend.usage = attempt.usage
        record, left = record_of(attempt, task, key), left_by(attempt)
        if POLICIES[attempt.outcome].scored:
            await asyncio.to_thread(write_receipt, given.folder, record, left)
        return await self._judge.judge(record, left, task, key)

    async def _collect(self, task: Task, key: AttemptKey) -> AttemptRecord | None:
        """Score an attempt that ended under an honed that is dead now; None if none waits, or it is not whole."""
        attempt_id = self._salvage.take(key.digest)
        if attempt_id is None:
            return None
        folder = self._folder / attempt_id
        receipt = await asyncio.to_thread(read_receipt, folder)
        left = await asyncio.to_thread(result_of, folder, receipt) if receipt else None
        if receipt is None or left is None:
            await self._journal.abandon_attempts((attempt_id,))
            log.warning("attempt_abandoned", attempt=attempt_id, reason="its folder is not what it was")
            return None
        record = await self._judge.judge(receipt.record, left, task, key)
        record = await asyncio.to_thread(remembered, record)
        await self._journal.finish_attempt(record)
        self._purse.settle("target", usage_of(record))
        log.info("attempt_collected", attempt=attempt_id, task=task.id)
        self.tell(record, reused=False)
        return record

    def _assignment(self, attempt_id: str, skill: Skill | None, task: Task, trial: int) -> Assignment:
        folder = self._folder / attempt_id
        folder.mkdir(parents=True)
        return Assignment(
            attempt_id=attempt_id,
            task_id=task.id,
            prompt=task.prompt,
            folder=folder,
            files=task.file_bytes(),
            skill=RenderedSkill(skill.name, skill.digest, skill.files) if skill else None,
            activation=self._settings.activation,
            deadline_s=task.timeout_s,
            max_turns=self._settings.max_turns,
            seed=trial,
            root=task.root,
            limits=partial(limits_for, task) if task.environment else None,
            episode=episode_of(task),
            tools=task.tools,
        )

    async def _wait(self, number: int) -> None:
        await self._sleep(min(30.0, self._settings.backoff_s * 2 ** (number - 1)))

    def tell(self, record: AttemptRecord, *, reused: bool) -> None:
        """The one canonical log line of an attempt, and its progress event."""
        usage = usage_of(record)
        log.info(
            "attempt",
            task=record.task_id,
            attempt=record.attempt_id,
            harness=self._harness.name,
            outcome=record.outcome,
            score=record.score,
            tokens=usage.tokens,
            usd=usage.usd,
            wall_s=round(record.wall_s, 3),
            reused=reused,
        )
        event = AttemptFinished(
            attempt_id=record.attempt_id,
            task_id=record.task_id,
            harness=self._harness.name,
            outcome=record.outcome,
            score=record.score,
            solved=record.hard,
            tokens=usage.tokens,
            usd=usage.usd,
            wall_s=record.wall_s,
            reused=reused,
            detail=record.detail,
        )
        self._observer.notify(event)
