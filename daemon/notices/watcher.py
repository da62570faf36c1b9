"""Says which projects to look at: after a change on disk, when somebody asks, and now and then in any case.

Invariants: events only wake, so a lost, doubled or foreign one is harmless; a project comes through once it was quiet
for `debounce_s`, and at the latest after `PATIENCE` times that, however busy it is; watches are put right before names
are given, so what happens while somebody looks wakes again.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

import structlog

from daemon.notices.arming import Arms, Eyes, NoEyes, why_blind
from daemon.notices.eyes import open_eyes
from daemon.notices.places import Wanted, places_of
from daemon.notices.seen import Seen
from daemon.service.project import Project

PATIENCE = 10
"""Times `debounce_s`: so long endless changes are waited for."""

log = structlog.get_logger(__name__)


class Watcher:
    """Watches the files and repositories of projects; an async context manager, in one event loop."""

    def __init__(
        self, projects: Sequence[Project], *, debounce_s: float, poll_s: float, observer: Eyes | None = None
    ) -> None:
        """`observer`: what sees events; None: watchdog's for this system."""
        self._projects = tuple(projects)
        self._debounce = debounce_s
        self._poll = poll_s
        self._observer = observer
        self._beside: dict[str, tuple[str, ...]] = {}
        self._lock = threading.Lock()
        self._woken: dict[str, tuple[float, float]] = {}
        """By project: when it was first woken, and last."""
        self._closed = False
        self._said = ""

    @property
    def blind(self) -> str:
        """Why some changes are only seen by the poll: one sentence; empty if all is watched."""
        return self._said

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._next_poll = time.monotonic() + self._poll
        self._arms, fault = await asyncio.to_thread(self._open)
        try:
            await self._arm(fault)
        except BaseException:
            await asyncio.to_thread(self._arms.close)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        self._news.set()
        await asyncio.to_thread(self._arms.close)

    async def changes(self) -> AsyncGenerator[set[str], None]:
        """Names of projects to look at, as they come; ends when the watcher is closed. For one reader."""
        while not self._closed:
            names = await self._due()
            if names and not self._closed:
                await self._arm()
                yield names

    def set_projects(self, projects: Sequence[Project]) -> None:
        """Keep these from now on; those that are new or changed are to be looked at."""
        known = {project.name: project for project in self._projects}
        self._projects = tuple(projects)
        names = {project.name for project in projects}
        with self._lock:
            self._woken = {name: when for name, when in self._woken.items() if name in names}
        for project in projects:
            if known.get(project.name) != project:
                self.wake(project.name)

    def note(self, name: str, seen: Seen) -> None:
        """What a project's tasks are made of is known once they are loaded: watch that too."""
        if self._beside.get(name, ()) != seen.tasks.beside:
            self._beside[name] = seen.tasks.beside
            self.wake(name)

    def wake(self, name: str) -> None:
        """Have a project looked at, without waiting for quiet."""
        with self._lock:
            self._woken[name] = (0.0, 0.0)
        self._news.set()

    def _told(self, names: Iterable[str]) -> None:
        """Events, in another thread."""
        now, first = time.monotonic(), False
        with self._lock:
            for name in names:
                known = self._woken.get(name)
                first = first or known is None
                if known != (0.0, 0.0):
                    self._woken[name] = (known[0] if known else now, now)
        if first and not self._closed:
            with suppress(RuntimeError):  # the loop was closed meanwhile
                self._loop.call_soon_threadsafe(self._news.set)

    async def _due(self) -> set[str]:
        """Wait for the next projects; may come back with none."""
        now = time.monotonic()
        kept = {project.name for project in self._projects}
        if now >= self._next_poll:
            self._next_poll = now + self._poll
            with self._lock:
                self._woken.clear()
            return kept
        with self._lock:
            self._news.clear()
            at = {name: self._at(*when) for name, when in self._woken.items()}
            due = {name for name, when in at.items() if when <= now}
            for name in due:
                del self._woken[name]
        if due:
            return due & kept
        wait = min([*at.values(), self._next_poll]) - now
        with suppress(TimeoutError):
            async with asyncio.timeout(max(wait, 0.001)):
                await self._news.wait()
        return set()

    def _at(self, first: float, last: float) -> float:
        return min(last + self._debounce, first + PATIENCE * self._debounce)

    def _open(self) -> tuple[Arms, str]:
        """Begin to watch, or say why that cannot be."""
        try:
            eyes = self._observer if self._observer is not None else open_eyes()
            eyes.start()
        except OSError as error:
            return Arms(NoEyes(), self._told), why_blind(error, "file events")
        return Arms(eyes, self._told), ""

    async def _arm(self, fault: str = "") -> None:
        """Put the watches right; what cannot be watched is said once."""
        faults = await asyncio.to_thread(self._update)
        said = "; ".join(dict.fromkeys([fault, *faults] if fault else faults))
        if said and said != self._said:
            log.warning("some changes are only seen by the poll", why=said, poll_s=self._poll)
        self._said = said

    def _update(self) -> list[str]:
        wanted: dict[str, Wanted] = {
            project.name: places_of(project, self._beside.get(project.name, ())) for project in self._projects
        }
        self._arms.update(wanted)
        return list(self._arms.faults.values())
