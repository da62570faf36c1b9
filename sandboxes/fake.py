"""A sandbox for unit tests: real folders, but a script of the test stands in for the command.

The script may be a plain or an async function. Paths of the layout are host paths, so that it can read and write what
the command line names. Deadline, stream caps, fresh homes and hostile collection work as in the real engines.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass
from inspect import isawaitable
from pathlib import Path

from sandboxes.disk import DiskWatch
from sandboxes.guard import until_end, watched
from sandboxes.hostpaths import fresh_home, host_layout
from sandboxes.left import LeftBox, sweep
from sandboxes.rooms import Rooms, box_owner, make_rooms
from sandboxes.sandbox import (
    BoxSpec,
    Collected,
    Command,
    Ended,
    Ending,
    EngineFacts,
    Layout,
    Room,
    SandboxError,
)
from sandboxes.streams import Streams
from sandboxes.wrapper import inner_argv


@dataclass(frozen=True)
class FakeAnswer:
    """What the script says became of the command; wall time, files and cut flags are made from it."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int | None = 0
    ending: Ending = Ending.EXITED
    oom_seen: bool = False
    host_roomy: bool = False
    detail: str = ""


Script = Callable[["FakeBox", Command], FakeAnswer | Awaitable[FakeAnswer]]


class FakeSandbox:
    """Boxes whose commands are played by `script`. `opened` keeps every box for the test to look at.

    `left` is what a test says that a dead process left; `removed` names what of it was removed.
    """

    name = "fake"

    def __init__(self, script: Script, *, isolated: bool = True, broken: str = "") -> None:
        self._script = script
        self._isolated = isolated
        self._broken = broken
        self.opened: list[FakeBox] = []
        self.left: list[LeftBox] = []
        self.removed: list[str] = []

    async def facts(self) -> EngineFacts:
        """As `Sandbox.facts`; raises if the fake was made `broken`."""
        self._check()
        return EngineFacts(self.name, "0", "host", isolated=self._isolated, lacks=("nothing is run",))

    @asynccontextmanager
    async def open(self, spec: BoxSpec) -> AsyncIterator[FakeBox]:
        """As `Sandbox.open`."""
        self._check()
        box = FakeBox(spec, make_rooms(spec, box_owner(), own_roots=True), self._script)
        self.opened.append(box)
        try:
            yield box
        finally:
            await box.halt()

    async def boxes(self) -> tuple[LeftBox, ...]:
        """As `Sandbox.boxes`: what the test says is left (`left`); raises if the fake was made `broken`."""
        self._check()
        return tuple(sorted(self.left, key=lambda box: box.name))

    async def remove(self, name: str) -> bool:
        """As `Sandbox.remove`."""
        self._check()
        found = [box for box in self.left if box.name == name]
        self.left = [box for box in self.left if box.name != name]
        self.removed += [box.name for box in found]
        return bool(found)

    async def sweep(self, *, keep: Set[str] = frozenset()) -> tuple[str, ...]:
        """As `Sandbox.sweep`."""
        return await sweep(self, keep)

    def _check(self) -> None:
        if self._broken:
            raise SandboxError(self._broken)


class FakeBox:
    """One open box; `commands` keeps what was run."""

    def __init__(self, spec: BoxSpec, rooms: Rooms, script: Script) -> None:
        self.spec = spec
        self.commands: list[Command] = []
        self._rooms = rooms
        self._script = script
        self._layout = host_layout(spec, model_url="http://127.0.0.1:18080")
        self._streams: Streams | None = None
        self._running: set[asyncio.Task[FakeAnswer]] = set()

    @property
    def layout(self) -> Layout:
        """As `Box.layout`, with host paths."""
        return self._layout

    @property
    def workspace(self) -> Path:
        """Host path of the workspace."""
        return self._rooms.workspace

    @property
    def out(self) -> Path:
        """Host path of the output folder."""
        return self._rooms.out

    async def write(
        self, files: Mapping[str, bytes], *, room: Room = "workspace", modes: Mapping[str, int] | None = None
    ) -> None:
        """As `Box.write`."""
        await self._rooms.write(files, room=room, modes=modes)

    async def collect(self, *, room: Room = "workspace") -> Collected:
        """As `Box.collect`."""
        return await self._rooms.collect(room=room)

    async def run(self, command: Command) -> Ended:
        """As `Box.run`: the script answers. What the script raises is a fault of the test and goes through."""
        inner_argv(command, self._layout)
        self._rooms.settle()
        self.commands.append(command)
        fresh_home(self._layout, self._rooms.owner)
        streams = self._streams = Streams(self._rooms.folder, len(self.commands), self.spec.limits.stream_bytes)
        began = time.monotonic()
        task = asyncio.ensure_future(self._answer(command))
        self._running.add(task)
        disk = DiskWatch(self._rooms.both, self.spec.limits.workspace_bytes)
        try:
            stop = await until_end(
                task, deadline_s=command.deadline_s, disk=watched(disk, command), falling=disk.falling
            )
        finally:
            self._running.discard(task)
            task.cancel()
            await asyncio.wait({task})
            wall_s = time.monotonic() - began
            streams.close()
        if stop is not None:
            answer = FakeAnswer(ending=stop.ending, detail=stop.detail)
        elif task.cancelled():
            answer = FakeAnswer(ending=Ending.KILLED, detail="the box was closed")
        else:
            answer = task.result()
        return _ended(answer, wall_s, streams)

    def say(self, stdout: bytes = b"", stderr: bytes = b"") -> None:
        """For the script: output that is there even if the command never ends by itself."""
        assert self._streams is not None, "only while a command runs"
        if not (stdout or stderr):
            return
        self._streams.stdout.write(stdout)
        self._streams.stderr.write(stderr)

    async def halt(self) -> None:
        """Stop what still runs."""
        for task in self._running:
            task.cancel()

    async def _answer(self, command: Command) -> FakeAnswer:
        scripted = self._script(self, command)
        answer = await scripted if isawaitable(scripted) else scripted
        self.say(answer.stdout, answer.stderr)
        return answer


def _ended(answer: FakeAnswer, wall_s: float, streams: Streams) -> Ended:
    return Ended(
        ending=answer.ending,
        exit_code=answer.exit_code if answer.ending is Ending.EXITED else None,
        wall_s=wall_s,
        stdout=streams.stdout.path,
        stderr=streams.stderr.path,
        stdout_cut=streams.stdout.cut,
        stderr_cut=streams.stderr.cut,
        oom_seen=answer.oom_seen or answer.ending is Ending.OUT_OF_MEMORY,
        host_roomy=answer.host_roomy,
        detail=answer.detail,
    )
