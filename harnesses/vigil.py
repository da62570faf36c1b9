"""Watches over a CLI that runs: a provider that is silent, a CLI that hangs, one that does not exit after its result.

Silence alone is no hang. The CLI may wait for the model (a request is open at the door) or for a command of the agent's
(its call has no result yet); only one that waits for nothing, for long, hangs. The deadline is ours in any case: this
saves the time until then, and tells the CLI's fault from the agent's.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harnesses.traces.lines import read_lines
from harnesses.traces.standing import Standing, standing
from sandboxes.gateway.gateway import Door
from sandboxes.walk import walk

Clock = Callable[[], float]
WATCH_S = 0.5
LOOK_S = 15.0
"""Pause between two looks at what a silent CLI has printed and recorded."""
_ENTRIES = 5_000
"""Of the session's folder that are looked at."""


@dataclass(frozen=True)
class Patience:
    """How long a CLI may do nothing at all. Seconds."""

    idle_s: float = 300.0
    """While nothing of the agent's is at work and no request is open."""
    exit_s: float = 10.0
    """After the event that ends its run."""


class Vigil:
    """One run's watch. `silent_s` and `hung` may be read from any thread."""

    def __init__(
        self, door: Door, folder: Path, patience: Patience, *, clock: Clock = time.monotonic, wall: Clock = time.time
    ) -> None:
        """`folder` is the attempt's, which holds what the command prints and its room `out`."""
        self._door = door
        self._folder = folder
        self._patience = patience
        self._clock = clock
        self._since = clock()
        self._wall = wall
        self._began = wall()
        self._seen: object = None
        self._next = 0.0
        self.silent_s = 0.0
        """How long the provider had been silent when the command ended: killing it ends its requests."""
        self.hung = ""
        """Why it is to be stopped; empty while it is not."""

    async def watch(self) -> None:
        """Look until cancelled."""
        while True:
            with suppress(OSError):  # what cannot be looked at now tells nothing: the deadline stands
                await self.look()
            await asyncio.sleep(WATCH_S)

    async def look(self) -> None:
        """Once."""
        tally = self._door.tally()
        self.silent_s = tally.waiting_s
        stdout = await asyncio.to_thread(_newest, self._folder)
        size = 0 if stdout is None else await asyncio.to_thread(_size, stdout)
        seen = (stdout, size, tally.usage.requests, tally.retries, len(tally.failures), len(tally.refusals))
        if tally.waiting_s > 0 or seen != self._seen:
            self._seen, self._since, self._next = seen, self._clock(), 0.0
            return
        idle_s = self._clock() - self._since
        if idle_s < min(self._patience.exit_s, self._patience.idle_s) or self._clock() < self._next:
            return
        self._next = self._clock() + LOOK_S
        self.hung = await asyncio.to_thread(self._judged, stdout, idle_s)

    def _judged(self, stdout: Path | None, idle_s: float) -> str:
        found = standing(read_lines(stdout)) if stdout is not None else Standing()
        if found.ended:
            return f"the CLI did not exit within {idle_s:.0f} s of its result"
        if found.working or idle_s < self._patience.idle_s:
            return ""
        now = self._wall()
        quiet_s = now - _newest_record(self._folder / "out", self._began, now)
        if quiet_s < self._patience.idle_s:
            return ""
        return f"the CLI printed, recorded and asked nothing for {min(idle_s, quiet_s):.0f} s ([target] idle_s)"


def _newest(folder: Path) -> Path | None:
    """What the newest command of the box prints."""
    found = [entry for entry in os.scandir(folder) if entry.name.startswith("run-") and entry.name.endswith(".stdout")]
    return Path(max(found, key=lambda entry: int(entry.name[4:-7])).path) if found else None


def _size(path: Path) -> int:
    return path.stat().st_size


def _newest_record(out: Path, began: float, now: float) -> float:
    """Unix time when the newest file of the room was written, from `began` to `now`."""
    newest = began
    try:
        for number, entry in enumerate(walk(out, max_depth=16)):
            if number >= _ENTRIES:
                break
            if entry.info is not None:
                newest = max(newest, min(entry.info.st_mtime, now))
    except OSError:
        return newest  # the room is no longer readable: what was printed decides alone
    return newest
