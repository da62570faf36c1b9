"""The Docker engine: a fresh hardened container for each command, over the attempt's own folders.

Every container carries labels (owner, boot, attempt, role, deadline) before it exists for anybody else, so that a sweep
finds what a dead process left. One client a box, closed with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Mapping, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import docker

from sandboxes.container import (
    APP,
    LABEL_APP,
    LABEL_ATTEMPT,
    LABEL_BOOT,
    LABEL_DEADLINE,
    LABEL_OWNER,
    LABEL_ROLE,
    ContainerEnd,
    ContainerRun,
    first_process,
    frozen,
    remove,
)
from sandboxes.disk import DiskWatch
from sandboxes.engine_client import ENGINE_ERRORS, address, connect, connected, explain, image_id
from sandboxes.guard import Stop, finish, first_of, in_own_thread, until_end, watched
from sandboxes.hardening import inner_layout, profile
from sandboxes.left import LeftBox, open_here, sweep
from sandboxes.memory import host_roomy
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
from sandboxes.wrapper import forwarder_failed

BOOT_ID = uuid.uuid4().hex
"""Of this process: tells its containers from those of an earlier life."""
_RUNNING = {"running": True, "paused": True, "restarting": True, "created": False, "exited": False, "dead": False}
"""The engine's words for a container's state; others tell nothing."""
STOP_S = 30.0
"""How long a killed container may take to be gone before it counts as lost."""


class UnknownRuntimeError(SandboxError):
    """`[sandbox] runtime` names what the engine does not have."""


@dataclass(frozen=True)
class _Engine:
    """What is asked of the engine once and does not change while it runs."""

    version: str
    image: str
    runtime: str | None
    """What was asked for and the engine has; None: its default."""
    cpus: float
    memory_bytes: int
    """Of its machine."""
    seccomp: bool
    """It can load a filter."""
    lacks: tuple[str, ...]


class DockerSandbox:
    """Boxes as containers of `image`; `owner` is the state folder's id and goes into labels and names.

    `runtime` is what starts them (`runsc`, `kata-runtime`, …), by a name that the engine knows; None: its default.
    """

    name = "docker"

    def __init__(self, image: str, *, owner: str, base_url: str | None = None, runtime: str | None = None) -> None:
        self._image = image
        self._runtime = runtime
        self._owner = owner
        self._address = address(base_url)
        self._open = open_here(owner)
        self._engine: _Engine | None = None

    async def facts(self) -> EngineFacts:
        """As `Sandbox.facts`; boxes opened afterwards use the image that was found.

        Asked once, and again after a box failed: every attempt wants them, and the engine is slow to tell.
        """
        engine = self._engine
        if engine is None:
            asked = await in_own_thread(self._ask)
            engine = self._engine = asked
        return EngineFacts(
            self.name, engine.version, engine.image, isolated=True, lacks=engine.lacks, runtime=engine.runtime or ""
        )

    @asynccontextmanager
    async def open(self, spec: BoxSpec) -> AsyncIterator[DockerBox]:
        """As `Sandbox.open`."""
        rooms = await asyncio.to_thread(make_rooms, spec, box_owner(), own_roots=True)
        self._open.add(spec.attempt_id)
        client = box = None
        try:
            client = await _connected(self._address)
            if self._engine is None:
                self._engine = await in_own_thread(partial(_ask_engine, client, self._image, self._runtime))
            box = DockerBox(spec, rooms, client=client, engine=self._engine, owner=self._owner)
            yield box
        except SandboxError:
            self._engine = None  # the next one asks anew: perhaps another engine answers, or the image was replaced
            raise
        finally:
            try:
                if box is not None:
                    await finish(box.halt())
            finally:
                self._open.discard(spec.attempt_id)
                if client is not None:
                    client.close()

    async def boxes(self) -> tuple[LeftBox, ...]:
        """As `Sandbox.boxes`: containers by their labels."""
        return await in_own_thread(self._boxes)

    async def remove(self, name: str) -> bool:
        """As `Sandbox.remove`."""
        return await in_own_thread(partial(self._remove, name))

    async def sweep(self, *, keep: Set[str] = frozenset()) -> tuple[str, ...]:
        """As `Sandbox.sweep`: ours that are not kept nor open here, and anybody's past their deadline."""
        return await sweep(self, keep)

    def _ask(self) -> _Engine:
        with connected(self._address) as client:
            return _ask_engine(client, self._image, self._runtime)

    def _boxes(self) -> tuple[LeftBox, ...]:
        with connected(self._address) as client:
            try:
                found = client.api.containers(all=True, filters={"label": f"{LABEL_APP}={APP}"})
            except ENGINE_ERRORS as error:
                message = f"the engine does not tell which containers are left: {explain(error)}"
                raise SandboxError(message) from error
        boxes = [self._left(container) for container in sorted(found, key=lambda each: str(each["Names"]))]
        return tuple(box for box in boxes if not (box.ours and box.attempt_id in self._open))

    def _left(self, container: Mapping[str, Any]) -> LeftBox:
        labels: Mapping[str, str] = container["Labels"]
        try:
            deadline = float(labels[LABEL_DEADLINE])
        except (KeyError, ValueError):
            deadline = None
        state = str(container.get("State", ""))
        names = container["Names"] or [container["Id"]]  # none while it is being removed
        return LeftBox(
            name=str(names[0]).lstrip("/"),
            attempt_id=labels.get(LABEL_ATTEMPT, ""),
            ours=labels.get(LABEL_OWNER) == self._owner,
            running=_RUNNING.get(state),
            deadline=deadline,
        )

    def _remove(self, name: str) -> bool:
        with connected(self._address) as client:
            try:
                return remove(client, name)
            except ENGINE_ERRORS as error:
                message = f"container {name} is left and cannot be removed: {explain(error)}"
                raise SandboxError(message) from error


class DockerBox:
    """One open box: see `sandboxes.sandbox.Box`."""

    def __init__(
        self, spec: BoxSpec, rooms: Rooms, *, client: docker.DockerClient, engine: _Engine, owner: str
    ) -> None:
        self._spec = spec
        self._rooms = rooms
        self._client = client
        self._engine = engine
        self._owner = owner
        self._layout = inner_layout(spec)
        self._count = 0
        self._frozen: bool | None = None
        self._live: dict[ContainerRun, asyncio.Future[ContainerEnd]] = {}

    @property
    def layout(self) -> Layout:
        """As `Box.layout`."""
        return self._layout

    async def write(
        self, files: Mapping[str, bytes], *, room: Room = "workspace", modes: Mapping[str, int] | None = None
    ) -> None:
        """As `Box.write`."""
        await self._rooms.write(files, room=room, modes=modes)

    async def collect(self, *, room: Room = "workspace") -> Collected:
        """As `Box.collect`."""
        return await self._rooms.collect(room=room)

    async def run(self, command: Command) -> Ended:
        """As `Box.run`: a fresh container."""
        self._count += 1
        await asyncio.to_thread(self._rooms.settle)
        arguments = self._arguments(command)
        loop = asyncio.get_running_loop()
        started = asyncio.Event()
        streams = Streams(self._rooms.folder, self._count, self._spec.limits.stream_bytes)
        run = ContainerRun(
            self._client,
            arguments,
            idle_s=command.deadline_s + 2 * STOP_S,
            streams=streams,
            started=lambda: _tell(loop, started),
        )
        self._live[run] = end = in_own_thread(run.execute)
        try:
            stop = await self._watch(end, started, command)
        finally:
            await finish(_settle(run, end))
            del self._live[run]
        return self._ended(end, stop, streams)

    async def halt(self) -> None:
        """Stop what still runs."""
        for run, end in list(self._live.items()):
            await _settle(run, end)

    async def _watch(self, end: asyncio.Future[ContainerEnd], started: asyncio.Event, command: Command) -> Stop | None:
        starting = asyncio.create_task(started.wait())
        try:
            await first_of(end, starting)
        finally:
            starting.cancel()
        first = partial(first_process, self._client, self.container_name(self._count))
        disk = DiskWatch(self._rooms.both, self._spec.limits.workspace_bytes, first=first)
        stop = await until_end(end, deadline_s=command.deadline_s, disk=watched(disk, command), falling=disk.falling)
        if stop is not None and stop.ending is Ending.HUNG:
            self._frozen = await in_own_thread(partial(frozen, self._client, self.container_name(self._count)))
        return stop

    def _ended(self, end: asyncio.Future[ContainerEnd], stop: Stop | None, streams: Streams) -> Ended:
        told = end.result() if end.done() else ContainerEnd(lost="the Docker engine stopped answering")
        complaint = forwarder_failed(told.exit_code, streams.stderr.path)
        if complaint:
            raise SandboxError(complaint)
        ending, detail = _ending(told, stop)
        return Ended(
            ending=ending,
            exit_code=told.exit_code if ending is Ending.EXITED else None,
            wall_s=told.wall_s,
            stdout=streams.stdout.path,
            stderr=streams.stderr.path,
            stdout_cut=streams.stdout.cut,
            stderr_cut=streams.stderr.cut,
            oom_seen=told.oom_seen,
            frozen=self._frozen,
            host_roomy=host_roomy(self._spec.limits.memory_bytes, self._engine.memory_bytes),
            detail=detail,
        )

    def _arguments(self, command: Command) -> dict[str, Any]:
        spec = self._spec
        image = spec.root.image if spec.root else self._engine.image
        made = profile(spec, command, image=image, owner=self._rooms.owner, layout=self._layout)
        # The engine refuses more processors than there are.
        made = replace(made, nano_cpus=min(made.nano_cpus, round(self._engine.cpus * 1_000_000_000)))
        made = replace(made, seccomp=made.seccomp if self._engine.seccomp else None, runtime=self._engine.runtime)
        labels = {
            LABEL_APP: APP,
            LABEL_OWNER: self._owner,
            LABEL_BOOT: BOOT_ID,
            LABEL_ATTEMPT: spec.attempt_id,
            LABEL_ROLE: spec.role,
            LABEL_DEADLINE: f"{spec.deadline:.0f}",
        }
        return {**made.arguments(), "labels": labels, "name": self.container_name(self._count)}

    def container_name(self, run: int) -> str:
        """Name of the container of run number `run` (from 1)."""
        owner = hashlib.sha256(self._owner.encode()).hexdigest()[:8]
        return f"honed-{owner}-{self._spec.attempt_id}-{self._spec.role}-{run}"


def _ending(told: ContainerEnd, stop: Stop | None) -> tuple[Ending, str]:
    if told.lost:
        return Ending.LOST, told.lost
    if told.stopped_by_us:
        return (stop.ending, stop.detail) if stop else (Ending.KILLED, "the box was closed")
    if told.exit_code == 137 and told.oom_seen:
        return Ending.OUT_OF_MEMORY, "killed for memory: raise [sandbox] memory_mb"
    if told.stopped_by_others:
        return Ending.KILLED, "somebody outside stopped the container"
    return Ending.EXITED, ""


async def _settle(run: ContainerRun, end: asyncio.Future[ContainerEnd]) -> None:
    """Make sure the run is over; never raises for what the run itself raised."""
    if not end.done():
        in_own_thread(run.stop)
        await asyncio.wait({end}, timeout=STOP_S)
    if end.done():
        end.exception()


async def _connected(base_url: str) -> docker.DockerClient:
    """A client; one that arrives after we were cancelled is closed."""
    connecting = in_own_thread(partial(connect, base_url))
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        connecting.add_done_callback(lambda late: late.result().close() if late.exception() is None else None)
        raise


def _tell(loop: asyncio.AbstractEventLoop, started: asyncio.Event) -> None:
    loop.call_soon_threadsafe(started.set)


def _ask_engine(client: docker.DockerClient, image: str, runtime: str | None) -> _Engine:
    digest = image_id(client, image)
    try:
        info = client.info()
    except ENGINE_ERRORS as error:
        raise SandboxError(explain(error)) from error
    _check_runtime(info, runtime)
    seccomp = any("seccomp" in option for option in info.get("SecurityOptions") or ())
    lacks = []
    if not seccomp:
        lacks.append("the engine runs without seccomp: system calls are not filtered")
    for key, words in (
        ("MemoryLimit", "memory"),
        ("SwapLimit", "swap"),
        ("PidsLimit", "process"),
        ("CpuCfsQuota", "cpu"),
    ):
        if not info.get(key, False):
            lacks.append(f"the engine's kernel cannot enforce the {words} limit")
    cpus, memory = float(info["NCPU"]), int(info["MemTotal"])
    return _Engine(str(info["ServerVersion"]), digest, runtime, cpus, memory, seccomp, tuple(lacks))


def _check_runtime(info: Mapping[str, Any], runtime: str | None) -> None:
    known = sorted(info.get("Runtimes") or ())
    # A name with a dot is containerd's own of a program that it looks for when a container starts.
    if runtime is not None and runtime not in known and "." not in runtime:
        message = (
            f"[sandbox] runtime = {runtime!r} is not known to the Docker engine (it has {', '.join(known) or 'none'}): "
            "install it and name it in the engine's daemon.json, or remove the key"
        )
        raise UnknownRuntimeError(message)
