"""Score a skill on tasks: bounded concurrency, results by task id, equal content never paid for twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

from daemon.budget.purse import Purse
from daemon.journal.journal import Journal
from daemon.journal.records import AttemptKey, AttemptRecord
from daemon.rollouts.attempt import Attempts, AttemptSettings, Room, Sleep, always
from daemon.rollouts.parallel import Prefix, SingleFlight, ordered
from daemon.rollouts.progress import Observer, Silent
from daemon.rollouts.result import TaskResult
from daemon.rollouts.salvage import Salvage
from daemon.rollouts.scoring import Verifier
from daemon.tasks.task import Task
from harnesses.harness import Harness
from skills_repo.skill import Skill


class Rollouts:
    """Runs a harness over tasks. One object a process and target: its concurrency bound is shared by all callers."""

    def __init__(
        self,
        harness: Harness,
        verifier: Verifier,
        journal: Journal,
        *,
        attempts_folder: Path,
        workers: int = 2,
        settings: AttemptSettings | None = None,
        observer: Observer | None = None,
        sleep: Sleep = asyncio.sleep,
        purse: Purse | None = None,
        salvage: Salvage | None = None,
        room: Room = always,
    ) -> None:
        self._journal = journal
        self._attempts = Attempts(
            harness,
            verifier,
            journal,
            folder=attempts_folder,
            settings=settings or AttemptSettings(),
            observer=observer or Silent(),
            sleep=sleep,
            purse=purse,
            salvage=salvage,
            room=room,
        )
        self._slots = asyncio.Semaphore(workers)
        self._flights: SingleFlight[tuple[AttemptRecord, bool]] = SingleFlight()
        self.harness = harness.name
        about = harness.settings()
        self.label = " / ".join(
            part for part in (f"{harness.name} {about.get('cli_version', '')}".strip(), about.get("model")) if part
        )

    @property
    def settings(self) -> dict[str, str]:
        """What decides results besides skill and task."""
        return self._attempts.key_settings

    async def score(
        self, skill: Skill | None, tasks: Sequence[Task], *, run_id: str, trial: int = 0
    ) -> tuple[TaskResult, ...]:
        """The results by task id, invalid ones among them.

        Raises `RunStopped` when a failure makes going on useless, and `BudgetReached` when what is left may not be
        paid. Whatever was scored by then is journaled.
        """
        found = await ordered(self._one(skill, task, trial, run_id, lambda: False) for task in tasks)
        return tuple(sorted((one for one in found if one is not None), key=lambda one: one.task_id))

    async def stream(
        self, skill: Skill | None, tasks: Sequence[Task], *, run_id: str, trial: int = 0
    ) -> AsyncGenerator[TaskResult, None]:
        """The results one by one, in the order of `tasks`, each as soon as it and all before it are there.

        Whoever stops reading early must close it (`contextlib.aclosing`): then nothing further starts, and what runs
        already is finished and journaled. So what is read is a prefix of `tasks`, whatever the number of workers.
        Raises `RunStopped` when a failure makes going on useless.
        """
        prefix: Prefix[TaskResult] = Prefix()
        prefix.start(self._one(skill, task, trial, run_id, lambda: prefix.closing) for task in tasks)
        try:
            async for result in prefix.read():
                yield result
        except GeneratorExit:
            await prefix.close()
            raise
        finally:
            await prefix.cancel()

    async def _one(
        self, skill: Skill | None, task: Task, trial: int, run_id: str, stop: Callable[[], bool]
    ) -> TaskResult | None:
        """One task's result, read back or made now; None if `stop` said so when its turn came."""
        key = self._attempts.key(skill, task, trial)
        found = await self._journal.find_scored(key)
        if found is not None:
            self._attempts.tell(found, reused=True)
            return TaskResult(task, found, reused=True)
        async with self._slots:
            if stop():
                return None
            record, reused = await self._flights.do(key.digest, lambda: self._fly(skill, task, key, run_id))
            return TaskResult(task, record, reused=reused)

    async def _fly(self, skill: Skill | None, task: Task, key: AttemptKey, run_id: str) -> tuple[AttemptRecord, bool]:
        # Asked again: while this one waited for a slot, an equal one may have been finished.
        found = await self._journal.find_scored(key)
        if found is not None:
            self._attempts.tell(found, reused=True)
            return found, True
        return await self._attempts.measure(skill, task, key, run_id), False
