"""One game in one process: started, asked with a bound on each answer, and ended for good.

Invariants: a process that crashes, stalls or says what is no turn raises `EpisodeError` and is gone; nothing of a game
is kept after `close`, neither process nor files.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

import daemon
from daemon.tasks.episodes.engines import EngineName, Turn
from harnesses.episode import EpisodeError

_LINE_BYTES = 8 * 1024 * 1024
_TURN = TypeAdapter(Turn)
_PIPES_S = 5.0


class GameError(EpisodeError):
    """The game itself is to blame: its engine cannot read or play it."""


@dataclass(frozen=True)
class Bounds:
    """Seconds by the clock: generous, since only a broken engine or machine meets them."""

    start_s: float = 180.0
    """Until the first answer: the engine is loaded and the game's file read."""
    step_s: float = 60.0


class GameProcess:
    """A game's process. One request at a time."""

    def __init__(self, child: asyncio.subprocess.Process, folder: Path, bounds: Bounds) -> None:
        self._child = child
        self._folder = folder
        self._bounds = bounds

    @classmethod
    async def start(cls, engine: EngineName, file: Path, bounds: Bounds | None = None) -> GameProcess:
        """Start it on a file (an absolute path), not yet reset; raises `EpisodeError` if the system does not let us."""
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="honed-game-"))
        try:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-s", "-m", "daemon.tasks.episodes.worker", engine, str(file)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_LINE_BYTES,
                cwd=folder,
                env=_environment(folder),
            )
        except OSError as error:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise EpisodeError(f"the game's process does not start: {error.strerror or error}") from error
        return cls(child, folder, bounds or Bounds())

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._child.pid

    async def reset(self) -> Turn:
        """The opening; raises `EpisodeError`."""
        return await self._ask({"op": "reset"}, self._bounds.start_s)

    async def step(self, command: str) -> Turn:
        """One command; raises `EpisodeError`."""
        return await self._ask({"op": "step", "command": command}, self._bounds.step_s)

    async def close(self) -> None:
        """End the process and remove its files; closing twice is fine."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        if self._child.returncode is None:
            with suppress(ProcessLookupError):
                self._child.kill()
        # To the pipes' end: one that is left open outlives the loop. A program that it started may hold them still.
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_PIPES_S):
                while await self._child.stdout.read(_LINE_BYTES):
                    pass
                await self._child.wait()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _ask(self, request: dict[str, str], seconds: float) -> Turn:
        try:
            async with asyncio.timeout(seconds):
                line = await self._exchange(json.dumps(request).encode() + b"\n")
        except TimeoutError as error:
            await self.close()
            raise EpisodeError(f"the game gave no answer within {seconds:g} s: is the machine too busy?") from error
        if not line.endswith(b"\n"):
            with suppress(TimeoutError):  # its own exit code is known only to who waits before killing
                async with asyncio.timeout(_PIPES_S):
                    await self._child.wait()
            await self.close()
            raise EpisodeError(f"the game's process ended (exit code {self._child.returncode})")
        return await self._turn(line)

    async def _exchange(self, request: bytes) -> bytes:
        """The line that answers; without its end if the process is gone or says too much."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(request)
            await self._child.stdin.drain()
            return await self._child.stdout.readline()
        except (OSError, ValueError):  # a dead process; a line beyond the bound
            return b""

    async def _turn(self, line: bytes) -> Turn:
        try:
            plain = json.loads(line)
            if "fault" in plain:
                raise GameError(f"the game failed: {plain['fault']}")
            return _TURN.validate_python(plain)
        except (ValueError, TypeError, ValidationError) as error:
            raise EpisodeError(f"the game's process did not answer with a turn ({type(error).__name__})") from error


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the host's; engines keep caches and scratch files only in their own folder."""
    own = ("HOME", "TMPDIR", "ALFWORLD_DATA", "XDG_CACHE_HOME")
    python = str(Path(daemon.__file__).parent.parent)
    return {"PATH": os.defpath, "PYTHONPATH": python, "LANG": "C.UTF-8"} | dict.fromkeys(own, str(folder))
