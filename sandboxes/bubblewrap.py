"""The bubblewrap engine: namespaces without a daemon, for machines where no container engine runs.

A command's processes die with the command, and with honed. Memory and process limits hold by a control group where one
can be made; what the engine cannot give is told in `EngineFacts.lacks`.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Set
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sandboxes.bubblewrap_run import BubblewrapRun, Setup, filters_calls
from sandboxes.cgroup import left_groups, make_cgroup, remove_group
from sandboxes.guard import finish
from sandboxes.hardening import inner_layout
from sandboxes.left import LeftBox, open_here, sweep
from sandboxes.namespaces import Way
from sandboxes.rooms import Rooms, make_rooms
from sandboxes.sandbox import (
    BoxSpec,
    Collected,
    Command,
    Ended,
    Ending,
    EngineFacts,
    Layout,
    Limits,
    Room,
    SandboxError,
)

_PROBE_S = 10.0
_PROBE = "honed-probe-"
"""Before a process id: folders for trying things out."""


class BubblewrapSandbox:
    """Boxes as namespaces over `root` (an unpacked root file system), or over the host's own system folders."""

    name = "bubblewrap"

    def __init__(self, root: Path | None = None, *, owner: str) -> None:
        self._root = root
        self._prefix = f"honed-{hashlib.sha256(owner.encode()).hexdigest()[:8]}-"
        self._setup: Setup | None = None
        self._probing = asyncio.Lock()
        self._open = open_here(owner)

    async def facts(self) -> EngineFacts:
        """As `Sandbox.facts`: really runs a command."""
        setup = await self._ready()
        version = await asyncio.to_thread(_version)
        return EngineFacts(self.name, version, self._digest(), isolated=True, lacks=_lacks(setup))

    @asynccontextmanager
    async def open(self, spec: BoxSpec) -> AsyncIterator[BubblewrapBox]:
        """As `Sandbox.open`."""
        setup = await self._ready()
        rooms = await asyncio.to_thread(make_rooms, spec, setup.way.owner())
        self._open.add(spec.attempt_id)
        box = BubblewrapBox(spec, rooms, setup, prefix=self._prefix)
        try:
            yield box
        finally:
            try:
                await finish(box.halt())
            finally:
                self._open.discard(spec.attempt_id)

    async def boxes(self) -> tuple[LeftBox, ...]:
        """As `Sandbox.boxes`: processes died with their honed; its control groups are left to remove."""
        return await asyncio.to_thread(self._boxes)

    async def remove(self, name: str) -> bool:
        """As `Sandbox.remove`: the control group of that name, with every controller's part of it."""
        return await asyncio.to_thread(self._remove, name)

    async def sweep(self, *, keep: Set[str] = frozenset()) -> tuple[str, ...]:
        """As `Sandbox.sweep`."""
        return await sweep(self, keep)

    def _boxes(self) -> tuple[LeftBox, ...]:
        names = sorted({folder.name for folder in left_groups(self._prefix)})
        attempts = {name: name.removeprefix(self._prefix).rpartition(".")[0] for name in names}
        return tuple(
            LeftBox(name, attempt, ours=True, running=False)
            for name, attempt in attempts.items()
            if attempt not in self._open
        )

    def _remove(self, name: str) -> bool:
        groups = [folder for folder in left_groups(self._prefix) if folder.name == name]
        return [remove_group(folder) for folder in groups].count(True) > 0

    async def _ready(self) -> Setup:
        """Find the way that works here by trying; raises `SandboxError` with the remedy."""
        async with self._probing:  # two probes would take each other's control group for one that cannot be made
            if self._setup is None:
                self._setup = await self._probe()
            return self._setup

    async def _probe(self) -> Setup:
        if shutil.which("bwrap") is None:
            message = "bubblewrap is not installed: install the package `bubblewrap`"
            raise SandboxError(message)
        group = make_cgroup(f"{self._prefix}probe.{os.getpid()}", Limits())
        if group is not None:
            await asyncio.to_thread(group.remove)
        ways = (
            [Way(user_namespace=True)] if os.geteuid() != 0 else [Way(user_namespace=False), Way(user_namespace=True)]
        )
        problem = ""
        for way in ways:
            setup = Setup(way=way, root=self._root, cgroups=group is not None)
            problem = await self._try(setup)
            if not problem:
                return setup
        message = f"bubblewrap cannot make namespaces here ({problem}): allow user namespaces, or use Docker"
        raise SandboxError(message)

    async def _try(self, setup: Setup) -> str:
        """One line why the setup does not work, or nothing."""
        await asyncio.to_thread(_remove_dead_probes)
        with tempfile.TemporaryDirectory(prefix=f"{_PROBE}{os.getpid()}-") as folder:
            spec = BoxSpec("probe", Path(folder), time.time() + _PROBE_S, role="probe")
            box = BubblewrapBox(spec, make_rooms(spec, setup.way.owner()), setup, prefix=self._prefix)
            try:
                ended = await box.run(Command(("/bin/sh", "-c", "echo x >probe"), {}, _PROBE_S))
            except SandboxError as error:
                return str(error)
        if ended.ending is Ending.EXITED and ended.exit_code == 0:
            return ""
        return f"a probe ended with {ended.ending} {ended.exit_code} {ended.detail}".rstrip()

    def _digest(self) -> str:
        if self._root is None:
            return "host"
        facts = self._root.with_name(self._root.name + ".json")
        try:
            return str(json.loads(facts.read_text(encoding="utf-8"))["digest"])
        except (OSError, ValueError, KeyError):
            return "unknown"


class BubblewrapBox:
    """One open box: see `sandboxes.sandbox.Box`."""

    def __init__(self, spec: BoxSpec, rooms: Rooms, setup: Setup, *, prefix: str) -> None:
        self._spec = spec
        self._rooms = rooms
        self._setup = setup
        self._prefix = prefix
        self._layout = inner_layout(spec)
        self._count = 0
        self._live: set[BubblewrapRun] = set()

    @property
    def layout(self) -> Layout:
        """As `Box.layout`."""
        return self._layout

    @property
    def pids(self) -> tuple[int, ...]:
        """Host process ids of the running commands' outermost processes."""
        return tuple(run.pid for run in self._live)

    async def write(
        self, files: Mapping[str, bytes], *, room: Room = "workspace", modes: Mapping[str, int] | None = None
    ) -> None:
        """As `Box.write`."""
        await self._rooms.write(files, room=room, modes=modes)

    async def collect(self, *, room: Room = "workspace") -> Collected:
        """As `Box.collect`."""
        return await self._rooms.collect(room=room)

    async def run(self, command: Command) -> Ended:
        """As `Box.run`: fresh namespaces."""
        self._count += 1
        name = f"{self._prefix}{self._spec.attempt_id}.{self._spec.role}{self._count}"
        run = BubblewrapRun(self._spec, self._layout, command, self._setup, name=name, number=self._count)
        self._live.add(run)
        try:
            return await run.to_end(self._rooms)
        finally:
            self._live.discard(run)

    async def halt(self) -> None:
        """Stop what still runs."""
        for run in list(self._live):
            await run.settle()


def _remove_dead_probes() -> None:
    """Folders of our user's that a process left which was killed while it tried things out."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PROBE}*-*"):
        pid = folder.name.removeprefix(_PROBE).partition("-")[0]
        with suppress(OSError):
            if pid.isdigit() and not Path("/proc", pid).exists() and folder.lstat().st_uid == os.geteuid():
                shutil.rmtree(folder)


def _version() -> str:
    env = {"PATH": os.environ.get("PATH", os.defpath)}
    done = subprocess.run(["bwrap", "--version"], env=env, capture_output=True, text=True, check=True)
    return done.stdout.split()[-1]


def _lacks(setup: Setup) -> tuple[str, ...]:
    lacks = []
    if not filters_calls():
        lacks.append("no seccomp filter for this machine: every system call of the kernel can be reached")
    if not setup.cgroups:
        lacks.append(
            "no control group can be made: memory is bounded for each process alone (address space of 8 GiB or more), "
            "processes by the user's own count, processors not at all, and running out of memory is not told apart"
        )
    if setup.way.user_namespace and os.geteuid() == 0:
        lacks.append("the user inside is the host's root in a user namespace: it may read root's files under /etc")
    if setup.root is None:
        lacks.append("programs and libraries are the host's own: results may differ from those in the sandbox image")
    return tuple(lacks)
