"""The edges of a daemon's work: where a process that is killed leaves one thing done and the next one not.

A child process wears them: at the n-th crossing of one edge it kills itself. The product knows nothing of this.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import structlog

from daemon.jobs.job import ENDED
from daemon.jobs.sqlite import SqliteStore
from daemon.journal.sqlite import SqliteJournal
from daemon.rollouts import attempt as attempts
from daemon.rollouts.scoring import Judge
from daemon.service.service import serve
from daemon.service.worker import Worker
from harnesses.chat import ChatHarness
from harnesses.models.heard import HeardClient
from skills_repo import committing, objects
from tests.soak.keeper import MARK

Cross = Callable[[], None]
LEFT_OPEN = 9


@dataclass(frozen=True)
class Edge:
    """One place in the code."""

    where: Any
    """Class or module."""
    name: str
    """Of its function."""
    only: Callable[[tuple[Any, ...]], bool] = lambda given: True
    """Which calls count, by their arguments."""
    before: bool = False
    """It is crossed before the call instead of after it."""

    def wear(self, cross: Cross) -> None:
        """Replace the function by one that tells of the crossing."""
        real = getattr(self.where, self.name)
        if asyncio.iscoroutinefunction(real):
            setattr(self.where, self.name, self._awaited(real, cross))
        else:
            setattr(self.where, self.name, self._called(real, cross))

    def _awaited(self, real: Callable[..., Awaitable[Any]], cross: Cross) -> Callable[..., Awaitable[Any]]:
        @functools.wraps(real)
        async def wrapped(*given: Any, **named: Any) -> Any:
            if self.before and self.only(given):
                cross()
            result = await real(*given, **named)
            if not self.before and self.only(given):
                cross()
            return result

        return wrapped

    def _called(self, real: Callable[..., Any], cross: Cross) -> Callable[..., Any]:
        @functools.wraps(real)
        def wrapped(*given: Any, **named: Any) -> Any:
            if self.before and self.only(given):
                cross()
            result = real(*given, **named)
            if not self.before and self.only(given):
                cross()
            return result

        return wrapped


def _kind(*kinds: str) -> Callable[[tuple[Any, ...]], bool]:
    return lambda given: given[1].kind in kinds


CHAT: dict[str, Edge] = {
    "job queued": Edge(SqliteStore, "add"),
    "look noted": Edge(SqliteStore, "note"),
    "job running": Edge(SqliteStore, "save", lambda given: given[1].state == "running"),
    "run row": Edge(SqliteJournal, "open_run"),
    "attempt row": Edge(SqliteJournal, "plan_attempt"),
    "attempt created": Edge(ChatHarness, "run", before=True),
    "attempt running": Edge(HeardClient, "complete", before=True),
    "model answered": Edge(HeardClient, "complete"),
    "attempt ended": Edge(ChatHarness, "run"),
    "attempt collected": Edge(attempts, "write_receipt"),
    "verdict": Edge(Judge, "judge"),
    "attempt finished": Edge(SqliteJournal, "finish_attempt"),
    "reply saved": Edge(SqliteJournal, "save_reply"),
    "decision": Edge(SqliteJournal, "save_decision", _kind("people", "baseline", "step", "slow_update", "final")),
    "commit object": Edge(objects, "write_commit"),
    "ref about to move": Edge(committing, "swap", before=True),
    "ref moved": Edge(committing, "swap"),
    "commits row": Edge(SqliteJournal, "save_decision", _kind("commits", "slow_update_commits")),
    "report": Edge(SqliteJournal, "save_decision", _kind("report", "test_reserved")),
    "run ended": Edge(SqliteJournal, "end_run"),
    "job ended": Edge(SqliteStore, "save", lambda given: given[1].state in ENDED),
}
"""In the order in which work comes to them first."""


def run_until(project: Path, temp: Path, edge: Edge | None = None, number: int = 0) -> int:
    """A daemon in a child process, until it has nothing to do or kills itself at the n-th crossing; its exit code.

    Called from a process without threads and event loop. Without an edge it only comes to its end, and says with
    `LEFT_OPEN` that descriptors are left in it then. `temp` is its folder for temporary files, and marks its children.
    """
    child = os.fork()
    if child == 0:
        _be(project, temp, lambda: edge.wear(_deadly(number)) if edge else None)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def crossings(project: Path, temp: Path, edges: Mapping[str, Edge]) -> dict[str, int]:
    """How often an undisturbed daemon crosses each edge, on its way to nothing to do."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:

        def wear() -> None:
            for number, edge in enumerate(edges.values()):
                edge.wear(functools.partial(os.write, writing, bytes([number])))  # type: ignore[arg-type]

        _be(project, temp, wear)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        crossed = pipe.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise RuntimeError(f"the undisturbed daemon ended with {os.waitstatus_to_exitcode(status)}")
    return {name: crossed.count(number) for number, name in enumerate(edges)}


def _be(project: Path, temp: Path, wear: Callable[[], None]) -> NoReturn:
    """The child: a daemon, and nothing of its parent's code afterwards."""
    code = 1
    try:
        structlog.configure(processors=[_drop])
        temp.mkdir(exist_ok=True)
        os.environ |= {"TMPDIR": str(temp), MARK: str(temp)}
        tempfile.tempdir = None
        _stop_when_done()
        wear()
        before = _descriptors()
        asyncio.run(serve(project / "honed.toml"))
        left = _descriptors() - before
        print(*(f"left open: {one}" for one in left), sep="\n", end="\n" if left else "", file=sys.stderr)
        code = LEFT_OPEN if left else 0
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(code)


def _descriptors() -> set[tuple[str, str]]:
    """Those that are open, each with what it is."""
    found = set()
    for one in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add((one.name, os.readlink(one)))  # noqa: PTH115 - no path: "socket:[…]"
    return {(name, what) for name, what in found if not what.endswith("/fd")}


def _deadly(number: int) -> Cross:
    counter = count(1)

    def cross() -> None:
        if next(counter) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return cross


def _stop_when_done() -> None:
    """It ends itself, as by SIGTERM, once nothing runs and every job has ended."""
    real = Worker._turn

    async def turn(self: Worker) -> float:
        wait = await real(self)
        jobs = await self.store.jobs()
        if not self.running and jobs and all(job.state in ENDED for job in jobs):
            os.kill(os.getpid(), signal.SIGTERM)
        return wait

    Worker._turn = turn  # type: ignore[method-assign]


def _drop(logger: Any, method: str, event: Any) -> Any:
    raise structlog.DropEvent
