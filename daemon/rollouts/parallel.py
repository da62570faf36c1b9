"""Concurrency that keeps order: results come back in the order asked for, whoever finished first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from daemon.budget.reached import BudgetReached

T = TypeVar("T")
S = TypeVar("S")


async def ordered(jobs: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all at once. The first failure, by position, is raised when every other job has been cancelled and ended.

    A job that the budget refuses ends none of the others: what they have begun is paid for, so they are finished.
    """
    tasks = [asyncio.ensure_future(job) for job in jobs]
    if not tasks:
        return []
    try:
        running: set[asyncio.Future[T]] = set(tasks)
        while running:
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_EXCEPTION)
            if any(not _refused(task) for task in done):
                break
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    failures = [end for end in ended if isinstance(end, BaseException)]
    # Those cancelled only because another one failed do not tell why, and a failure tells more than a refusal.
    failures.sort(key=lambda failure: (isinstance(failure, asyncio.CancelledError), isinstance(failure, BudgetReached)))
    if failures:
        raise failures[0]
    return [task.result() for task in tasks]


async def both(first: Coroutine[Any, Any, T], second: Coroutine[Any, Any, S]) -> tuple[T, S]:
    """Two jobs of different kinds at once, as `ordered`."""
    one, two = await ordered([_any(first), _any(second)])
    return one, two


async def _any(job: Coroutine[Any, Any, Any]) -> Any:
    return await job


def _refused(task: asyncio.Future[T]) -> bool:
    """Ended, and for no other reason than the budget."""
    return task.cancelled() or task.exception() is None or isinstance(task.exception(), BudgetReached)


class Prefix(Generic[T]):
    """Jobs that run at once and are read in the order given. The first failure, by position, ends the reading.

    A job that the budget refuses ends it too, but only when what runs has come to its end: it is paid for.
    """

    def __init__(self) -> None:
        self._tasks: list[asyncio.Future[T | None]] = []
        self.closing = False
        """Nobody reads on: a job that has not begun its work should give None."""

    def start(self, jobs: Iterable[Coroutine[Any, Any, T | None]]) -> None:
        """Run them."""
        self._tasks = [asyncio.ensure_future(job) for job in jobs]

    async def read(self) -> AsyncIterator[T]:
        """Results in order. A job that fails ends it at once, without waiting for those before it."""
        waiting = set(self._tasks)
        for task in self._tasks:
            while not task.done():
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                self._raise_failure()
            self._raise_failure()
            if task.exception() is not None:  # refused by the budget
                await self.close()
            result = task.result()
            if result is not None:
                yield result

    async def close(self) -> None:
        """Let what runs come to its end, start nothing; raises the first failure, by position.

        What the budget refused is no failure: nobody reads it any more.
        """
        self.closing = True
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._raise_failure()

    async def cancel(self) -> None:
        """End what still runs."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _raise_failure(self) -> None:
        for task in self._tasks:
            if task.done() and not _refused(task) and (failure := task.exception()) is not None:
                raise failure


@dataclass(eq=False)
class _Flight(Generic[T]):
    future: asyncio.Future[T]
    waiters: int = 0


class SingleFlight(Generic[T]):
    """Equal keys in flight share one job. The job is cancelled when its last waiter goes away."""

    def __init__(self) -> None:
        self._flying: dict[str, _Flight[T]] = {}

    async def do(self, key: str, job: Callable[[], Awaitable[T]]) -> T:
        """Run `job`, or wait for the one with this key that already runs."""
        flight = self._flying.get(key)
        if flight is None:
            flight = self._flying[key] = _Flight(asyncio.ensure_future(job()))
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.future)
        finally:
            flight.waiters -= 1
            if not flight.waiters:
                if self._flying.get(key) is flight:
                    del self._flying[key]
                await _end(flight.future)


async def _end(future: asyncio.Future[T]) -> None:
    """Cancel what nobody waits for, and see it off."""
    if future.done():
        return
    future.cancel()
    await asyncio.wait([future])
    if not future.cancelled():
        future.exception()  # taken, so that asyncio does not report it as forgotten
