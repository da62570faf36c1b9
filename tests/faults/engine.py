"""An engine of which a share of all boxes fails: before the command, while it runs, after it, and in what it says.

It wraps any `Sandbox`. Around the real Docker the faults are real where Docker lets them be: a container is removed or
killed by somebody else while its command runs; elsewhere the box tells what a real one would.
"""

from __future__ import annotations

import asyncio
import hashlib
import subprocess
from collections.abc import AsyncIterator, Mapping, Set
from contextlib import asynccontextmanager
from dataclasses import replace

from sandboxes.docker import DockerBox
from sandboxes.left import LeftBox
from sandboxes.sandbox import (
    Box,
    BoxSpec,
    Collected,
    Command,
    Ended,
    Ending,
    EngineFacts,
    Layout,
    Room,
    Sandbox,
    SandboxError,
)
from tests.faults.dice import Dice

KINDS = ("not started", "lost", "killed", "out of memory", "crashed", "silent", "garbage", "not read back", "slow")
_BY_HAND = {"lost": ("rm", "--force"), "killed": ("kill",)}
GARBAGE = b"\x00\xff{]not json\n" * 40


class FaultySandbox:
    """A `Sandbox` around another. `broken`: ids of the attempts whose box failed, and how."""

    def __init__(self, inner: Sandbox, dice: Dice, *, image_digest: str = "") -> None:
        self._inner = inner
        self._dice = dice
        self._image_digest = image_digest
        self.name = inner.name
        self.broken: dict[str, str] = {}

    async def facts(self) -> EngineFacts:
        """The inner engine's."""
        facts = await self._inner.facts()
        return replace(facts, image_digest=self._image_digest) if self._image_digest else facts

    @asynccontextmanager
    async def open(self, spec: BoxSpec) -> AsyncIterator[Box]:
        """A box with a fate of its own."""
        async with self._inner.open(spec) as box:
            yield FaultyBox(box, spec, self._dice, self.broken)

    async def boxes(self) -> tuple[LeftBox, ...]:
        """The inner engine's."""
        return await self._inner.boxes()

    async def remove(self, name: str) -> bool:
        """The inner engine's."""
        return await self._inner.remove(name)

    async def sweep(self, *, keep: Set[str] = frozenset()) -> tuple[str, ...]:
        """The inner engine's."""
        return await self._inner.sweep(keep=keep)


class FaultyBox:
    """One box. Its fate is drawn when its command is to run, from all that was laid by then."""

    def __init__(self, inner: Box, spec: BoxSpec, dice: Dice, broken: dict[str, str]) -> None:
        self._inner = inner
        self._spec = spec
        self._dice = dice
        self._broken = broken
        self._laid = hashlib.sha256(spec.role.encode())
        self._fate = ""

    @property
    def layout(self) -> Layout:
        """The inner box's."""
        return self._inner.layout

    async def write(
        self, files: Mapping[str, bytes], *, room: Room = "workspace", modes: Mapping[str, int] | None = None
    ) -> None:
        """As the inner box does."""
        for path, data in sorted(files.items()):
            self._laid.update(f"{room}/{path}/{len(data)}/".encode() + data)
        await self._inner.write(files, room=room, modes=modes)

    async def run(self, command: Command) -> Ended:
        """Run, or what fate makes of it."""
        fate = self._fate = self._dice.draw(self._laid.digest())
        if fate not in {"", "slow"}:
            self._broken[self._spec.attempt_id] = fate
        if fate == "slow":
            await asyncio.sleep(0.05)
        if fate == "not started":
            raise SandboxError("the engine refuses to start the container (a fault)")
        if fate in _BY_HAND and isinstance(self._inner, DockerBox):
            return await self._by_hand(self._inner, command, _BY_HAND[fate])
        return self._told(await self._inner.run(command))

    async def collect(self, *, room: Room = "workspace") -> Collected:
        """Read back, unless fate is against it."""
        if self._fate == "not read back":
            raise SandboxError("the workspace cannot be read back (a fault)")
        collected = await self._inner.collect(room=room)
        spoiled = self._fate in {"crashed", "silent", "garbage"} and room == "out"
        if spoiled and self._spec.role == "verifier":
            return replace(collected, files={"reward.txt": b"NaN"} if self._fate == "garbage" else {})
        return collected

    def _told(self, ended: Ended) -> Ended:
        match self._fate:
            case "lost":
                return replace(ended, ending=Ending.LOST, exit_code=None, detail="the container vanished (a fault)")
            case "killed":
                return replace(ended, ending=Ending.KILLED, exit_code=None, detail="killed from outside (a fault)")
            case "out of memory":
                return replace(ended, ending=Ending.OUT_OF_MEMORY, exit_code=None, oom_seen=True)
            case "crashed":
                ended.stdout.write_bytes(b"".join(ended.stdout.read_bytes().splitlines(keepends=True)[:1]))
                ended.stderr.write_bytes(b"thread 'main' panicked at src/main.rs (a fault)\n")
                return replace(ended, exit_code=101)
            case "silent":
                ended.stdout.write_bytes(b"")
            case "garbage":
                ended.stdout.write_bytes(GARBAGE)
        return ended

    async def _by_hand(self, box: DockerBox, command: Command, verb: tuple[str, ...]) -> Ended:
        """Somebody removes or kills the container as soon as it runs; one that was quicker did its work."""
        running = asyncio.ensure_future(box.run(command))
        name = box.container_name(1)
        while not running.done() and not await asyncio.to_thread(_docker, *verb, name):
            await asyncio.sleep(0.05)
        ended = await running
        if ended.ending is Ending.EXITED:
            self._broken.pop(self._spec.attempt_id)
            self._fate = ""
        return ended


def _docker(*argv: str) -> bool:
    return subprocess.run(["docker", *argv], capture_output=True, check=False).returncode == 0
