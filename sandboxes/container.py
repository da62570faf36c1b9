"""One container's life, blocking: create, attach, start, copy its output, wait, find out how it ended, remove.

Runs in a thread of its own; `stop` may be called from any other thread at any time. The container is removed on every
path, and never by the engine itself (`auto_remove` races with reading the exit code).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any

import docker
import structlog
from docker.errors import APIError, NotFound

from sandboxes.attach import Attachment
from sandboxes.engine_client import ENGINE_ERRORS, explain
from sandboxes.sandbox import SandboxError
from sandboxes.streams import Streams

log = structlog.get_logger(__name__)

LABEL_APP = "app"
APP = "honed"
LABEL_OWNER = "honed.owner"
LABEL_BOOT = "honed.boot"
LABEL_ATTEMPT = "honed.attempt"
LABEL_ROLE = "honed.role"
LABEL_DEADLINE = "honed.deadline"

_DEADLY_SIGNALS = {"1", "2", "3", "9", "15"}
_KILLED_CODE = 137
_LATE_EVENT_S = 2.0
"""How long an out-of-memory event may trail the end it caused, on a busy machine."""


@dataclass(frozen=True)
class ContainerEnd:
    """What the engine could tell. `lost` is one line if it could not."""

    exit_code: int | None = None
    wall_s: float = 0.0
    oom_seen: bool = False
    stopped_by_us: bool = False
    stopped_by_others: bool = False
    lost: str = ""


class ContainerRun:
    """One run; `execute` is called once. `idle_s`, longer than the deadline, is how long an engine may be silent."""

    def __init__(
        self,
        client: docker.DockerClient,
        arguments: Mapping[str, Any],
        *,
        idle_s: float,
        streams: Streams,
        started: Callable[[], None],
    ) -> None:
        self._client = client
        self._arguments = arguments
        self._streams = streams
        self._started = started
        self._lock = Lock()
        self._id: str | None = None
        self._running = False
        self._halted = False
        self._killed = False
        self._output: Attachment | None = None
        self._idle_s = idle_s

    def execute(self) -> ContainerEnd:
        """Run to the end. Raises `SandboxError` only if the command could not be started."""
        try:
            self._id = self._create()
            began = self._attach_and_start(self._id)
            if began is None:
                return ContainerEnd(stopped_by_us=True)
            return self._until_gone(self._id, began)
        finally:
            if self._output is not None:
                self._output.close()
            self._remove()
            self._streams.close()

    def stop(self) -> None:
        """Kill now, or keep from starting. Safe to call twice."""
        with self._lock:
            self._halted = True
            running = self._running
        if not running or self._id is None:
            return
        # Before the call: the other thread may see the end before the engine's answer reaches this one.
        self._killed = True
        try:
            self._client.api.kill(self._id)
        except APIError as error:
            # 404 and 409: it ended or vanished meanwhile; the other thread tells which.
            if error.response is None or error.response.status_code not in {404, 409}:
                log.warning("container_kill_failed", container=self._id, error=explain(error))
        except ENGINE_ERRORS as error:
            log.warning("container_kill_failed", container=self._id, error=explain(error))

    def _create(self) -> str:
        try:
            return self._create_once()
        except APIError as error:
            if error.response is None or error.response.status_code != 409:
                raise SandboxError(explain(error)) from error
        except ENGINE_ERRORS as error:
            raise SandboxError(explain(error)) from error
        try:
            remove_own(self._client, self._arguments["name"], self._arguments["labels"][LABEL_OWNER])
            return self._create_once()
        except ENGINE_ERRORS as error:
            raise SandboxError(explain(error)) from error

    def _create_once(self) -> str:
        container = self._client.containers.create(**self._arguments)
        assert container.id is not None
        return container.id

    def _attach_and_start(self, container: str) -> float | None:
        """Start time on our clock; None if we were stopped before."""
        api = self._client.api
        try:
            self._output = Attachment(self._client, container, idle_s=self._idle_s)
            with self._lock:
                if self._halted:
                    return None
                api.start(container)
                self._running = True
        except ENGINE_ERRORS as error:
            raise SandboxError(explain(error)) from error
        self._started()
        return time.monotonic()

    def _until_gone(self, container: str, began: float) -> ContainerEnd:
        try:
            assert self._output is not None
            self._output.copy_to(self._streams)
            self._client.api.wait(container, timeout=int(self._idle_s))
            wall_s = time.monotonic() - began
            return self._diagnose(container, wall_s)
        except NotFound:
            return self._lost(began, "the container vanished: somebody removed it")
        except ENGINE_ERRORS as error:
            return self._lost(began, explain(error))

    def _diagnose(self, container: str, wall_s: float) -> ContainerEnd:
        """The engine's `OOMKilled` flag and exit code are not enough: its events tell who sent a signal."""
        state = self._client.api.inspect_container(container)["State"]
        if state["Status"] in {"removing", "dead"}:
            return ContainerEnd(wall_s=wall_s, lost="the container is being removed by somebody else")
        code = int(state["ExitCode"])
        oom, signalled = self._events(container, 0.0)
        oom = oom or bool(state["OOMKilled"])
        if code == _KILLED_CODE and not (oom or signalled):
            oom, signalled = self._events(container, _LATE_EVENT_S)
        killed = signalled or code == _KILLED_CODE
        return ContainerEnd(
            exit_code=code,
            wall_s=wall_s,
            oom_seen=oom,
            stopped_by_us=killed and self._killed,
            stopped_by_others=signalled and not self._killed,
        )

    def _events(self, container: str, wait_s: float) -> tuple[bool, bool]:
        """(Did something run out of memory, was a deadly signal sent from outside)."""
        stream = self._client.api.events(  # type: ignore[call-overload] # fractions of a second are passed on
            since=0,
            until=f"{time.time() + wait_s:.6f}",
            filters={"container": container, "event": ["oom", "kill"]},
            decode=True,
        )
        try:
            seen = list(stream)
        finally:
            stream.close()
        oom = any(event["Action"] == "oom" for event in seen)
        signals = {event["Actor"]["Attributes"].get("signal") for event in seen if event["Action"] == "kill"}
        return oom, bool(signals & _DEADLY_SIGNALS)

    def _lost(self, began: float, why: str) -> ContainerEnd:
        return ContainerEnd(wall_s=time.monotonic() - began, lost=why)

    def _remove(self) -> None:
        if self._id is None:
            return
        try:
            remove(self._client, self._id)
        except ENGINE_ERRORS as error:
            # Its labels let the next sweep remove it.
            log.warning("container_not_removed", container=self._id, error=explain(error))


def first_process(client: docker.DockerClient, container: str) -> int:
    """Its number as the engine's host counts; 0 where the engine does not tell."""
    try:
        return int(client.api.inspect_container(container)["State"]["Pid"])
    except (*ENGINE_ERRORS, KeyError, TypeError, ValueError) as error:
        log.info("container_process_not_told", container=container, error=type(error).__name__)
        return 0


def frozen(client: docker.DockerClient, container: str) -> bool | None:
    """Some process of it is halted by a signal or a tracer, as the host sees it; None: the engine does not tell."""
    try:
        told = client.api.top(container, ps_args="-eo pid,stat")
        return any(state[:1] in {"T", "t"} for _, state in told["Processes"])
    except (*ENGINE_ERRORS, KeyError, TypeError, ValueError) as error:
        log.warning("container_processes_not_told", container=container, error=type(error).__name__)
        return None


def remove(client: docker.DockerClient, container: str) -> bool:
    """Kill and remove a container with its volumes; False if it was gone, or going, by somebody else's hand."""
    try:
        client.api.remove_container(container, force=True, v=True)
    except APIError as error:
        if error.response is None or error.response.status_code not in {404, 409}:
            raise
        return False
    return True


def remove_own(client: docker.DockerClient, name: str, owner: str) -> None:
    """Remove a container of that name if it carries our label: what an earlier life of the attempt left."""
    try:
        found = client.api.inspect_container(name)
    except NotFound:
        return
    labels = found["Config"]["Labels"] or {}
    if labels.get(LABEL_APP) != APP or labels.get(LABEL_OWNER) != owner:
        message = f"a container named {name} exists and is not ours: remove or rename it"
        raise SandboxError(message)
    remove(client, found["Id"])
