"""The process engine: a plain process of the host. It isolates nothing and says so.

For the demo and tests where neither containers nor namespaces can be had. A command gets its own session; whatever it
leaves is found by a marker in its environment and killed.
"""

from __future__ import annotations

import asyncio
import os
import platform
import re
import shutil
import signal
import time
from collections.abc import AsyncIterator, Mapping, Set
from contextlib import asynccontextmanager
from pathlib import Path

from sandboxes.child import Child
from sandboxes.disk import DiskWatch
from sandboxes.forward import port_of, serve
from sandboxes.guard import Stop, finish, until_end, watched
from sandboxes.hostpaths import fresh_home, host_layout
from sandboxes.lay import Owner
from sandboxes.left import LeftBox, open_here, sweep
from sandboxes.rooms import Rooms, make_rooms
from sandboxes.sandbox import (
    BoxSpec,
    Collected,
    Command,
    Ended,
    Ending,
    EngineFacts,
    Layout,
    Mount,
    Room,
    SandboxError,
)
from sandboxes.streams import Streams
from sandboxes.survivors import MARKER, kill_box, kill_marked, mark, marked
from sandboxes.wrapper import inner_argv

_GONE_S = 10.0
LACKS = (
    "no isolation at all: the command can reach the network and every file that honed's user can",
    "no memory, process or processor limit; running out of memory is not told apart",
    "no fresh root: programs and libraries are the host's own",
    f"one more environment variable, {MARKER}, by which left processes are found; one that clears it can escape",
    "a command killed by its own SIGKILL cannot be told from one killed from outside: it counts as killed",
)


class ProcessSandbox:
    """Boxes as plain processes; never with a real key unless the user allows it."""

    name = "process"

    def __init__(self, *, owner: str) -> None:
        self._owner = owner
        self._open = open_here(owner)

    async def facts(self) -> EngineFacts:
        """As `Sandbox.facts`."""
        return EngineFacts(self.name, platform.release(), "host", isolated=False, lacks=LACKS)

    @asynccontextmanager
    async def open(self, spec: BoxSpec) -> AsyncIterator[ProcessBox]:
        """As `Sandbox.open`. The forwarder is ours here, on a free port of its own for each box."""
        rooms = await asyncio.to_thread(make_rooms, spec, Owner(os.geteuid(), os.getegid()))
        server = await serve(str(spec.gateway_socket.absolute())) if spec.gateway_socket else None
        url = f"http://127.0.0.1:{port_of(server)}" if server else None
        self._open.add(spec.attempt_id)
        box = ProcessBox(spec, rooms, host_layout(spec, model_url=url), marker=mark(self._owner, spec.attempt_id))
        try:
            box.link_tools()
            yield box
        finally:
            try:
                await finish(box.halt())
            finally:
                self._open.discard(spec.attempt_id)
                if server is not None:
                    server.close()

    async def boxes(self) -> tuple[LeftBox, ...]:
        """As `Sandbox.boxes`: the processes that carry our marker, by attempt."""
        found = await asyncio.to_thread(marked, self._owner)
        left = [(attempt, name) for attempt, name in found.items() if attempt not in self._open]
        return tuple(LeftBox(name, attempt, ours=True, running=True) for attempt, name in left)

    async def remove(self, name: str) -> bool:
        """As `Sandbox.remove`."""
        return await asyncio.to_thread(kill_marked, self._owner, name)

    async def sweep(self, *, keep: Set[str] = frozenset()) -> tuple[str, ...]:
        """As `Sandbox.sweep`."""
        return await sweep(self, keep)


class ProcessBox:
    """One open box: see `sandboxes.sandbox.Box`."""

    def __init__(self, spec: BoxSpec, rooms: Rooms, layout: Layout, *, marker: str) -> None:
        self._spec = spec
        self._rooms = rooms
        self._layout = layout
        self._marker = marker
        self._count = 0
        self._live: set[Child] = set()

    @property
    def layout(self) -> Layout:
        """As `Box.layout`, with host paths."""
        return self._layout

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the running commands."""
        return tuple(child.pid for child in self._live)

    def link_tools(self) -> None:
        """Show the mounts as links in the tools folder, under their target's last name."""
        tools = Path(self._layout.tools)
        shutil.rmtree(tools, ignore_errors=True)
        tools.mkdir(mode=0o700)
        for mount in self._spec.mounts:
            if not mount.source.exists():
                message = f"cannot show {mount.source}: it does not exist"
                raise SandboxError(message)
            link = tools / Path(mount.target).name
            if not link.is_symlink():
                link.symlink_to(mount.source.absolute())

    async def write(
        self, files: Mapping[str, bytes], *, room: Room = "workspace", modes: Mapping[str, int] | None = None
    ) -> None:
        """As `Box.write`."""
        await self._rooms.write(files, room=room, modes=modes)

    async def collect(self, *, room: Room = "workspace") -> Collected:
        """As `Box.collect`."""
        return await self._rooms.collect(room=room)

    async def run(self, command: Command) -> Ended:
        """As `Box.run`. Where a mount's target stands in arguments or environment, its source is put."""
        self._count += 1
        argv = inner_argv(self._on_host(command), self._layout)
        await asyncio.to_thread(fresh_home, self._layout, self._rooms.owner)
        streams = Streams(self._rooms.folder, self._count, self._spec.limits.stream_bytes)
        began = time.monotonic()
        child = Child(argv, env={}, cwd=self._rooms.workspace, streams=streams)
        self._live.add(child)
        try:
            disk = DiskWatch(self._rooms.both, self._spec.limits.workspace_bytes)
            stop = await until_end(
                child.end, deadline_s=command.deadline_s, disk=watched(disk, command), falling=disk.falling
            )
            wall_s = time.monotonic() - began
        finally:
            await finish(self._settle(child))
            self._live.discard(child)
        return _ended(stop, child, streams, wall_s)

    async def halt(self) -> None:
        """Stop what still runs."""
        for child in list(self._live):
            await self._settle(child)

    async def _settle(self, child: Child) -> None:
        if not child.end.done():
            child.kill()
            await asyncio.wait({child.end}, timeout=_GONE_S)
        await asyncio.to_thread(kill_box, self._marker, child.pid)
        await child.drain()

    def _on_host(self, command: Command) -> Command:
        if command.forward and self._layout.gateway_socket is None:
            message = "Command.forward needs a box with a gateway socket (BoxSpec.gateway_socket)"
            raise SandboxError(message)
        env = {name: with_sources(value, self._spec.mounts) for name, value in command.env.items()}
        return Command(
            argv=tuple(with_sources(word, self._spec.mounts) for word in command.argv),
            env={**env, MARKER: self._marker},
            deadline_s=command.deadline_s,
        )


def with_sources(text: str, mounts: tuple[Mount, ...]) -> str:
    """`text` with each path at or below a mount's target turned into the host's path."""
    for mount in mounts:
        target = re.escape(mount.target.rstrip("/"))
        source = str(mount.source.absolute())
        text = re.sub(rf"(^|[:=\s\"']){target}(?=$|[/:\s\"'])", lambda found: found[1] + source, text)  # noqa: B023
    return text


def _ended(stop: Stop | None, child: Child, streams: Streams, wall_s: float) -> Ended:
    code = None
    if child.trouble:
        ending, detail = Ending.LOST, child.trouble
    elif stop is not None:
        ending, detail = stop.ending, stop.detail
    elif (returned := child.end.result()) == -signal.SIGKILL:
        ending, detail = Ending.KILLED, "killed by SIGKILL"
    else:
        ending, detail, code = Ending.EXITED, "", returned if returned >= 0 else 128 - returned
    return Ended(
        ending=ending,
        exit_code=code,
        wall_s=wall_s,
        stdout=streams.stdout.path,
        stderr=streams.stderr.path,
        stdout_cut=streams.stdout.cut,
        stderr_cut=streams.stderr.cut,
        detail=detail,
    )
