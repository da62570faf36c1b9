"""Order of results, the first failure, and shared flights."""

from __future__ import annotations

import asyncio

import pytest

from daemon.budget.reached import BudgetReached
from daemon.rollouts.parallel import Prefix, SingleFlight, ordered


async def later(value: int, turns: int) -> int:
    for _ in range(turns):
        await asyncio.sleep(0)
    return value


async def test_results_keep_the_order_asked_for() -> None:
    assert await ordered(later(i, turns) for i, turns in enumerate([5, 1, 3])) == [0, 1, 2]
    assert await ordered([]) == []


async def test_the_first_failure_ends_the_others() -> None:
    ended: list[str] = []

    async def waits() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")
        return 1

    async def fails() -> int:
        await asyncio.sleep(0)
        raise LookupError("this one")

    with pytest.raises(LookupError, match="this one"):
        await ordered([waits(), fails(), waits()])
    assert ended == ["waits", "waits"]


async def test_what_the_budget_refuses_ends_none_of_the_others() -> None:
    ended: list[int] = []

    async def runs(turns: int) -> int:
        ended.append(await later(turns, turns))
        return turns

    async def refused() -> int:
        raise BudgetReached("run", "attempts", 1, 1)

    with pytest.raises(BudgetReached, match="attempts = 1"):
        await ordered([runs(9), refused(), runs(3), refused()])
    assert ended == [3, 9]


async def test_a_failure_ends_the_others_after_a_refusal_too_and_is_what_is_raised() -> None:
    ended: list[str] = []

    async def waits() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")
        return 1

    async def refused() -> int:
        raise BudgetReached("run", "attempts", 1, 1)

    async def fails() -> int:
        await later(1, 4)
        raise LookupError("this one")

    with pytest.raises(LookupError, match="this one"):
        await ordered([refused(), waits(), fails()])
    assert ended == ["waits"]


async def test_cancelling_the_whole_cancels_the_parts() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def waits() -> int:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 1

    job = asyncio.ensure_future(ordered([waits()]))
    await started.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert ended.is_set()


async def test_equal_keys_share_a_flight_and_different_ones_do_not() -> None:
    flights: SingleFlight[int] = SingleFlight()
    runs: list[str] = []

    async def job(key: str) -> int:
        runs.append(key)
        await asyncio.sleep(0)
        return len(runs)

    await asyncio.gather(*(flights.do(key, lambda key=key: job(key)) for key in ("a", "b", "a", "a")))
    assert runs == ["a", "b"]
    await flights.do("a", lambda: job("a"))
    assert runs == ["a", "b", "a"]


async def test_a_failure_reaches_every_waiter_and_is_not_kept() -> None:
    flights: SingleFlight[int] = SingleFlight()

    async def fails() -> int:
        await asyncio.sleep(0)
        raise LookupError

    ends = await asyncio.gather(flights.do("a", fails), flights.do("a", fails), return_exceptions=True)
    assert [type(end) for end in ends] == [LookupError, LookupError]
    assert await flights.do("a", lambda: later(3, 1)) == 3


async def test_the_last_waiter_takes_the_flight_with_it() -> None:
    flights: SingleFlight[int] = SingleFlight()
    ended: list[str] = []

    async def waits() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waits")
        return 1

    first = asyncio.ensure_future(flights.do("a", waits))
    second = asyncio.ensure_future(flights.do("a", waits))
    await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.wait([first])
    assert ended == []
    second.cancel()
    await asyncio.wait([second])
    assert ended == ["waits"]


async def refused() -> int:
    raise BudgetReached("run", "attempts", 1, 1)


async def test_a_refused_job_ends_the_reading_when_what_runs_has_ended() -> None:
    ended: list[int] = []

    async def runs(turns: int) -> int:
        ended.append(await later(turns, turns))
        return turns

    prefix: Prefix[int] = Prefix()
    prefix.start([runs(6), refused(), runs(9), refused(), runs(12)])
    read: list[int] = []

    async def reading() -> None:
        async for value in prefix.read():
            read[:] = [*read, value]

    with pytest.raises(BudgetReached):
        await reading()
    assert read == [6], "what came before it is read all the same"
    assert ended == [6, 9, 12]
    assert prefix.closing, "jobs that have not begun are told not to"


async def test_whoever_stops_reading_before_a_refused_job_hears_nothing_of_it() -> None:
    prefix: Prefix[int] = Prefix()
    prefix.start([later(1, 1), refused()])
    async for value in prefix.read():
        assert value == 1
        break
    await prefix.close()


async def test_a_failure_ends_the_reading_at_once_after_a_refusal_too() -> None:
    async def fails() -> int:
        await later(1, 3)
        raise LookupError("this one")

    prefix: Prefix[int] = Prefix()
    prefix.start([later(1, 9), refused(), fails()])
    with pytest.raises(LookupError, match="this one"):
        await anext(prefix.read())
    await prefix.cancel()
