"""A daemon's control socket for tests: raw requests, and a desk whose jobs come to an end."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import typer

from daemon.cli.app import build
from daemon.config import load_config
from daemon.control.address import short
from daemon.control.server import Bounds, serve_control
from daemon.jobs.job import Job
from daemon.service.project import Project
from tests.support.desk import FakeDesk
from tests.support.projects import chat_project
from tests.support.streams import to_the_end
from tests.support.waiting import PATIENCE_S

T = TypeVar("T")


async def raw(path: Path, sent: bytes) -> bytes:
    """Everything that comes back to these bytes."""
    reader, writer = await connected(path)
    try:
        writer.write(sent)
        await writer.drain()
        return await to_the_end(reader)
    finally:
        await closed(writer)


async def connected(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that nothing has been sent on."""
    with short(path) as name:
        return await asyncio.open_unix_connection(name)


async def closed(writer: asyncio.StreamWriter) -> None:
    """Close a connection, whoever closed it first."""
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def request(method: str, target: str, body: bytes = b"", **headers: str) -> bytes:
    """A request's bytes."""
    lines = [f"{method} {target} HTTP/1.1", "Host: honed", *(f"{name}: {value}" for name, value in headers.items())]
    if body and "Content-Length" not in headers:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def answered(data: bytes) -> tuple[int, dict[str, Any]]:
    """Status and JSON body of an answer."""
    head, _, body = data.partition(b"\r\n\r\n")
    found: dict[str, Any] = json.loads(body)
    return int(head.split()[1]), found


async def apart(work: Callable[..., T], *arguments: Any) -> T:
    """Run what blocks (a verb's client) beside the event loop that answers it."""
    return await asyncio.to_thread(work, *arguments)


@dataclass
class EndingDesk(FakeDesk):
    """Plays out a run for whoever asks for one: `script` is called with the desk and the job in the event loop."""

    script: Callable[[EndingDesk, Job], None] | None = None

    async def train(self, file: str) -> Job:
        """Queue the job, and play."""
        job = await super().train(file)
        self.queue = (*self.queue, job)
        if self.script is not None:
            asyncio.get_running_loop().call_soon(self.script, self, job)
        return job

    def end(self, number: int, **changes: Any) -> None:
        """A job's new state, told as an event."""
        self.queue = tuple(replace(job, **changes) if job.number == number else job for job in self.queue)
        state = changes.get("state", "")
        self.events.publish("job", f"{state}: as the test says", project="greeting", job=number, state=state)


def project_at(folder: Path, name: str) -> Project:
    """A project in a folder of its own, as a daemon keeps it."""
    folder.mkdir(exist_ok=True)
    return Project(name, load_config(chat_project(folder, "http://127.0.0.1:9/v1") / "honed.toml"))


class Beside:
    """A desk that answers from a thread of its own, so that a verb can be run as it is, in the main one."""

    def __init__(self, desk: FakeDesk, state: Path) -> None:
        self.desk = desk
        self._state = state
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="a daemon")

    def __enter__(self) -> Beside:
        self._thread.start()
        assert self._up.wait(PATIENCE_S)
        return self

    def __exit__(self, *_error: object) -> None:
        self.do(self._down.set)
        self._thread.join(PATIENCE_S)

    def do(self, work: Callable[..., object], *arguments: Any) -> None:
        """Do something in the daemon's event loop."""
        self._loop.call_soon_threadsafe(work, *arguments)

    async def _serve(self) -> None:
        self._loop, self._down = asyncio.get_running_loop(), asyncio.Event()
        async with serve_control(self.desk, self._state, bounds=Bounds(heartbeat_s=0.1)):
            self._up.set()
            await self._down.wait()


@dataclass(frozen=True)
class Said:
    """What a verb came to."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, Any]:
        """Its JSON line."""
        found: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return found


def verb(line: str, config: Path, capsys: Any) -> Said:
    """Run a verb in this process, as `honed LINE --config …` does."""
    words = line.split()
    app = build((words[0], "log"))
    try:
        code = app(["--log-text", *words, "--config", str(config)], standalone_mode=False)
    except typer.Exit as end:
        code = end.exit_code
    out, err = capsys.readouterr()
    return Said(int(code or 0), out, err)
