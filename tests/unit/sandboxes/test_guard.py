from __future__ import annotations

import asyncio
import threading
import time

import pytest

from sandboxes import guard
from sandboxes.guard import Stop, finish, first_of, in_own_thread, until_end
from sandboxes.sandbox import Ending
from tests.support.waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "POLL_S", 0.01)


def never() -> asyncio.Future[int]:
    return asyncio.get_running_loop().create_future()


async def test_an_end_by_itself() -> None:
    end = never()
    asyncio.get_running_loop().call_later(0.05, end.set_result, 3)

    assert await until_end(end, deadline_s=PATIENCE_S, disk=lambda: None) is None


async def test_the_deadline() -> None:
    began = time.monotonic()
    stop = await until_end(never(), deadline_s=0.1, disk=lambda: None)

    assert stop is not None
    assert stop.ending is Ending.DEADLINE
    assert time.monotonic() - began > 0.09


async def test_the_disk_bound() -> None:
    full = Stop(Ending.OVER_DISK, "full")
    looks = iter([None, None, full])
    stop = await until_end(never(), deadline_s=PATIENCE_S, disk=lambda: next(looks))

    assert stop is full


async def test_a_slow_look_at_the_disk_does_not_delay_the_deadline() -> None:
    released, waited_out = threading.Event(), list[bool]()

    def slow() -> None:
        released.wait(PATIENCE_S)
        waited_out.append(True)

    stop = await until_end(never(), deadline_s=0.2, disk=slow)
    assert waited_out == []
    released.set()

    assert stop is not None
    assert stop.ending is Ending.DEADLINE


async def test_a_failed_end_is_left_to_the_caller() -> None:
    end = never()
    end.set_exception(ValueError("x"))

    assert await until_end(end, deadline_s=PATIENCE_S, disk=lambda: None) is None
    assert isinstance(end.exception(), ValueError)


async def test_cancelling_the_watch_leaves_the_end_alone() -> None:
    end = never()
    watch = asyncio.create_task(until_end(end, deadline_s=PATIENCE_S, disk=lambda: None))
    await asyncio.sleep(0.02)
    watch.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watch

    assert not end.cancelled()


async def test_a_cancellation_while_the_last_look_is_given_up_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    looking, given_up, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stubborn(_: object, _falling: object) -> str:
        try:
            looking.set()
            await asyncio.sleep(600)
        finally:
            given_up.set()
            await go_on.wait()
        return ""

    monkeypatch.setattr(guard, "_look", stubborn)
    end = never()
    watch = asyncio.create_task(until_end(end, deadline_s=600, disk=lambda: None))
    await looking.wait()
    end.set_result(0)
    await given_up.wait()
    watch.cancel()
    asyncio.get_running_loop().call_soon(go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await watch


async def test_finish_outlasts_every_cancellation() -> None:
    done, go_on = [], asyncio.Event()

    async def cleaning() -> str:
        await go_on.wait()
        done.append(True)
        return "clean"

    task = asyncio.create_task(finish(cleaning()))
    for _ in range(3):
        await asyncio.sleep(0.01)
        assert not task.done()
        task.cancel()
    await asyncio.sleep(0.01)
    assert done == []
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert done == [True]
    assert await finish(cleaning()) == "clean"


async def test_finish_passes_errors_on() -> None:
    async def broken() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await finish(broken())


async def test_many_blocking_calls_do_not_wait_for_each_other() -> None:
    barrier = threading.Barrier(20, timeout=PATIENCE_S)
    results = await asyncio.gather(*(in_own_thread(barrier.wait) for _ in range(20)))

    assert sorted(results) == list(range(20))


async def test_own_thread_passes_errors_on() -> None:
    def broken() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await in_own_thread(broken)


async def test_first_of_cancels_neither() -> None:
    one, other = never(), never()
    await first_of(one, other, within_s=0.01)

    assert not one.cancelled()
    assert not other.cancelled()


async def test_a_disk_that_fills_fast_is_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "POLL_S", 1_000.0)
    monkeypatch.setattr(guard, "QUICK_S", 0.01)
    asked = iter([False, False, True])
    stop = await until_end(
        never(), deadline_s=PATIENCE_S, disk=lambda: Stop(Ending.OVER_DISK, "full"), falling=lambda: next(asked)
    )

    assert stop == Stop(Ending.OVER_DISK, "full")
