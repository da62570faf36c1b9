"""Waiting for a command's end under our own deadline and disk bound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

from sandboxes.sandbox import Command, Ending

T = TypeVar("T")

POLL_S = 0.5
"""Pause between two looks at the disk; longer where a look itself takes long."""
QUICK_S = 0.025
"""Pause between two questions whether a look should not wait."""


@dataclass(frozen=True)
class Stop:
    """Why we stop a command that still runs."""

    ending: Ending
    detail: str


async def until_end(
    end: asyncio.Future[T],
    *,
    deadline_s: float,
    disk: Callable[[], Stop | None],
    falling: Callable[[], bool] = bool,
) -> Stop | None:
    """Wait for `end`; None if it came by itself, else the reason to stop now. `end` is never cancelled.

    `disk` runs in a thread and gives the reason to stop if the box is over its bound; `falling`, asked often, says that
    it should not wait.
    """
    loop = asyncio.get_running_loop()
    last = loop.time() + deadline_s
    look: asyncio.Task[Stop | None] | None = None
    try:
        while not end.done():
            left = last - loop.time()
            if left <= 0:
                return Stop(Ending.DEADLINE, f"stopped after {deadline_s:g} s")
            look = look or asyncio.create_task(_look(disk, falling))
            await first_of(end, look, within_s=left)
            if look.done() and not end.done():
                if reason := look.result():
                    return reason
                look = None
        return None
    finally:
        if look is not None:
            look.cancel()
            await asyncio.wait({look})  # unlike awaiting it, this cannot be mistaken for our own cancellation


def watched(disk: Callable[[], Stop | None], command: Command) -> Callable[[], Stop | None]:
    """`disk`, and whoever gave the command being asked whether it hangs."""

    def look() -> Stop | None:
        if stop := disk():
            return stop
        why = command.hung() if command.hung else ""
        return Stop(Ending.HUNG, why) if why else None

    return look


async def _look(disk: Callable[[], Stop | None], falling: Callable[[], bool]) -> Stop | None:
    loop = asyncio.get_running_loop()
    await _pause(POLL_S, falling)
    began = loop.time()
    reason = await asyncio.to_thread(disk)
    took = loop.time() - began
    if reason is None:
        await asyncio.sleep(took)
        await _pause(9 * took, falling)
    return reason


async def _pause(seconds: float, falling: Callable[[], bool]) -> None:
    """Sleep, or less where the disk's room falls."""
    loop = asyncio.get_running_loop()
    last = loop.time() + seconds
    while (left := last - loop.time()) > 0:
        await asyncio.sleep(min(left, QUICK_S))
        if falling():
            return


async def first_of(one: asyncio.Future[Any], other: asyncio.Future[Any], *, within_s: float | None = None) -> None:
    """Wait until one of them is done or `within_s` seconds are over; neither is cancelled and nothing is raised."""
    await asyncio.wait({one, other}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)


async def finish(work: Coroutine[Any, Any, T]) -> T:
    """Await `work` to its end even while we are being cancelled; then the cancellation goes on."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError from task.exception()
    return task.result()


def in_own_thread(call: Callable[[], T]) -> asyncio.Future[T]:
    """Run a long blocking call in a thread of its own, so that it holds none of the loop's few workers."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as caught:  # handed to whoever awaits the future
            error = caught
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    Thread(target=work, name="honed-sandbox", daemon=True).start()
    return future
