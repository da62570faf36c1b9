"""One command in bubblewrap: start, watch, make sure that its whole process namespace is gone, tell how it ended."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from sandboxes.cgroup import Cgroup, make_cgroup
from sandboxes.child import Child, Pump
from sandboxes.disk import DiskWatch
from sandboxes.guard import Stop, finish, until_end, watched
from sandboxes.hardening import FILE_SLACK
from sandboxes.memory import host_roomy
from sandboxes.namespaces import LIMITED, Way, becoming, bubblewrap_options
from sandboxes.rooms import Rooms
from sandboxes.sandbox import GIB, BoxSpec, Command, Ended, Ending, Layout, SandboxError
from sandboxes.seccomp.kernel import program
from sandboxes.streams import Streams
from sandboxes.wrapper import PATH, forwarder_failed, inner_argv

_GONE_S = 10.0
_MIN_ADDRESS_SPACE = 8 * GIB
"""The agents' CLIs reserve this much without using it."""

_BLOCK = 512
"""What the shell counts a file's greatest size in."""

# $1 a file's greatest size. Joins the control groups named before `--`, then becomes the rest.
_LAUNCH = """
ulimit -c 0; ulimit -n 8192 2>/dev/null; ulimit -f "$1" || exit 125; shift
echo 500 >/proc/self/oom_score_adj
while [ "$1" != -- ]; do echo 0 >"$1" || exit 125; shift; done
shift; exec "$@"
"""


@dataclass(frozen=True)
class Setup:
    """What works on this machine."""

    way: Way
    root: Path | None
    cgroups: bool


class BubblewrapRun:
    """One run; `to_end` is called once."""

    def __init__(
        self, spec: BoxSpec, layout: Layout, command: Command, setup: Setup, *, name: str, number: int
    ) -> None:
        self._spec = spec
        self._layout = layout
        self._command = command
        self._setup = setup
        self._name = name
        self._number = number
        self._status = bytearray()
        self._settling = asyncio.Lock()
        self._status_pump: Pump | None = None
        self._child: Child | None = None
        self._init_fd: int | None = None
        self._group: Cgroup | None = None

    @property
    def pid(self) -> int:
        """Host process id of bubblewrap itself."""
        assert self._child is not None
        return self._child.pid

    async def to_end(self, rooms: Rooms) -> Ended:
        """Run; nothing of it is left afterwards, also when cancelled."""
        inner = self._inner()
        streams = Streams(rooms.folder, self._number, self._spec.limits.stream_bytes)
        try:
            if self._setup.cgroups:
                # Not in a thread: a few writes in memory, and nothing may be cancelled between making and keeping it.
                self._group = make_cgroup(self._name, self._spec.limits)
                if self._group is None:
                    message = f"cannot make the control group {self._name}: run `honed doctor`"
                    raise SandboxError(message)
            began = time.monotonic()
            child = self._child = self._start(inner, streams)
            disk = DiskWatch(
                rooms.both, self._spec.limits.workspace_bytes, first=lambda: int(self._told("child-pid") or 0)
            )
            stop = await until_end(
                child.end, deadline_s=self._command.deadline_s, disk=watched(disk, self._command), falling=disk.falling
            )
            wall_s = time.monotonic() - began
        finally:
            oom = await finish(self._give_back(streams))
        return self._ended(stop, wall_s, streams, oom_seen=oom)

    async def _give_back(self, streams: Streams) -> bool:
        """End it all; True if something in the control group was killed for memory."""
        oom = False
        try:
            await self.settle()
        finally:
            streams.close()
            if self._group is not None:
                oom = await asyncio.to_thread(self._drop_group, self._group)
        return oom

    async def settle(self) -> None:
        """Kill, and wait until the namespace's first process is gone: the kernel ends all others before it."""
        child = self._child
        if child is None:
            return
        async with self._settling:
            await self._settle(child)

    async def _settle(self, child: Child) -> None:
        if not child.end.done():
            child.kill()
            await asyncio.wait({child.end}, timeout=_GONE_S)
        if self._status_pump is not None:
            self._status_pump.read_now()
        try:
            if self._init_fd is not None:
                await _gone(self._init_fd)
        finally:
            if self._init_fd is not None:
                os.close(self._init_fd)
                self._init_fd = None
            await child.drain()

    def _inner(self) -> tuple[str, ...]:
        inner = inner_argv(self._command, self._layout)
        if self._setup.cgroups:
            return inner
        limits = self._spec.limits
        address_space = max(limits.memory_bytes, _MIN_ADDRESS_SPACE) // 1024
        return ("/bin/sh", "-c", LIMITED, "sh", str(address_space), str(limits.pids), *inner)

    def _start(self, inner: tuple[str, ...], streams: Streams) -> Child:
        read_fd, write_fd = os.pipe()
        status: IO[bytes] = os.fdopen(read_fd, "rb", buffering=0)
        try:
            way = self._setup.way
            options = bubblewrap_options(self._spec, self._layout, way=way, root=self._setup.root, status_fd=write_fd)
            data = b"".join(os.fsencode(word) + b"\0" for word in options)
            with _readable(data) as options_fd, _readable(program(platform.machine()) or b"") as filter_fd:
                walls = ("--seccomp", str(filter_fd)) if filters_calls() else ()
                argv = ("bwrap", "--args", str(options_fd), *walls, "--", *becoming(way, self._layout), *inner)
                groups = self._group.entries if self._group else ()
                blocks = (self._spec.limits.workspace_bytes + FILE_SLACK) // _BLOCK
                launch = ("/bin/sh", "-c", _LAUNCH, "sh", str(blocks), *groups, "--", *argv)
                fds = (write_fd, options_fd, filter_fd)
                # In the root, because the launching shell hands its folder on as PWD, readable inside.
                child = Child(launch, env={"PATH": PATH}, cwd=Path("/"), streams=streams, pass_fds=fds)
        except BaseException:
            status.close()
            raise
        finally:
            os.close(write_fd)
        self._status_pump = Pump(status, self._hear)
        child.also(self._status_pump)
        return child

    def _hear(self, data: bytes) -> None:
        """Bubblewrap's status: first the id of the namespace's first process, at the end the exit code."""
        self._status += data
        pid = self._told("child-pid")
        if pid is not None and self._init_fd is None:
            with suppress(ProcessLookupError):
                self._init_fd = os.pidfd_open(pid)

    def _told(self, key: str) -> Any:
        for line in bytes(self._status).splitlines():
            with suppress(ValueError):
                told = json.loads(line)
                if key in told:
                    return told[key]
        return None

    def _drop_group(self, group: Cgroup) -> bool:
        """Remove the control group; True if something in it was killed for memory."""
        oom = group.oom_kills() > 0
        group.remove()
        return oom

    def _ended(self, stop: Stop | None, wall_s: float, streams: Streams, *, oom_seen: bool) -> Ended:
        assert self._child is not None
        code = None
        ending, detail = Ending.LOST, self._child.trouble
        if not detail:
            code = self._child.end.result()
            if complaint := forwarder_failed(code, streams.stderr.path):
                raise SandboxError(complaint)
            ending, detail = self._ending(stop, code, streams, oom_seen=oom_seen)
        return Ended(
            ending=ending,
            exit_code=code if ending is Ending.EXITED else None,
            wall_s=wall_s,
            stdout=streams.stdout.path,
            stderr=streams.stderr.path,
            stdout_cut=streams.stdout.cut,
            stderr_cut=streams.stderr.cut,
            oom_seen=oom_seen,
            host_roomy=host_roomy(self._spec.limits.memory_bytes),
            detail=detail,
        )

    def _ending(self, stop: Stop | None, code: int, streams: Streams, *, oom_seen: bool) -> tuple[Ending, str]:
        if stop is not None:
            return stop.ending, stop.detail
        if oom_seen and code in {128 + signal.SIGKILL, -signal.SIGKILL}:
            return Ending.OUT_OF_MEMORY, "killed for memory: raise [sandbox] memory_mb"
        if code < 0:
            return Ending.KILLED, f"somebody outside stopped bubblewrap (signal {-code})"
        if self._told("exit-code") is None:
            head = streams.stderr.path.read_bytes()[:300].decode("utf-8", "replace")
            message = f"bubblewrap did not start the command: {' '.join(head.split())}"
            raise SandboxError(message)
        return Ending.EXITED, ""


def filters_calls() -> bool:
    """A filter of system calls can be made for this machine."""
    return program(platform.machine()) is not None


@contextmanager
def _readable(data: bytes) -> Iterator[int]:
    """A descriptor from which the data can be read."""
    fd = os.memfd_create("honed-options", 0)
    try:
        os.write(fd, data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


async def _gone(pidfd: int) -> None:
    """Wait (bounded) until the process behind `pidfd` has ended; kill it if it has not at once."""
    loop = asyncio.get_running_loop()
    gone = asyncio.Event()
    loop.add_reader(pidfd, gone.set)
    try:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        async with asyncio.timeout(_GONE_S):
            await gone.wait()
    except TimeoutError:
        message = "a killed process namespace does not go away: is the host's disk stuck?"
        raise SandboxError(message) from None
    finally:
        loop.remove_reader(pidfd)
