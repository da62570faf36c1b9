"""Boxes that attack: what `captive` saw in a real one, beside another box and a host that listens everywhere."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

from sandboxes.docker import DockerSandbox
from sandboxes.sandbox import Box, BoxSpec, Command, Ended, Mount
from tests.support.sandboxes import PATH, docker_image

CAPTIVE = Path(__file__).with_name("captive")
PATIENCE_S = 150.0
TOOLS = "/opt/agents/tools"
_SEEN: dict[str, tuple[str, str]] = {}
_ONE = asyncio.Lock()

HOLDER = """
import ctypes, os, socket, sys, time
name, key = sys.argv[1], int(sys.argv[2])
tcp = socket.create_server(("127.0.0.1", 0))
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0" + name); abstract.listen()
libc = ctypes.CDLL(None)
assert libc.shmget(ctypes.c_int(key), ctypes.c_size_t(4096), 0o1666) >= 0
for folder in ("/tmp", "/home/agent", "/dev/shm", "/workspace", "/out"):
    open(f"{folder}/{name}", "w").close()
with open("/workspace/port.new", "w") as file: file.write(str(tcp.getsockname()[1]))
os.rename("/workspace/port.new", "/workspace/port")
time.sleep(600)
"""


@asynccontextmanager
async def box(folder: Path, owner: str, name: str = "captive", **more: Any) -> AsyncIterator[Box]:
    """A box of the real engine with the hardened profile."""
    spec = BoxSpec(name, folder / name, time.time() + 3_600, **more)
    async with DockerSandbox(docker_image(), owner=owner).open(spec) as opened:
        yield opened


async def python(inside: Box, code: str, *arguments: str, deadline_s: float = PATIENCE_S) -> Ended:
    """Run a Python program as the box's command."""
    return await inside.run(Command(("python3", "-I", "-c", code, *arguments), {"PATH": PATH}, deadline_s))


def captive_files() -> dict[str, bytes]:
    """The attacker's program, for a workspace: run `python3 -I captive`."""
    return {f"captive/{path.name}": path.read_bytes() for path in sorted(CAPTIVE.glob("*.py"))}


def told(ended: Ended) -> dict[str, Any]:
    """What `captive` printed."""
    return captive_report(ended.stdout.read_text(errors="replace"))


def captive_report(text: str) -> dict[str, Any]:
    """The report in a text; raises `AssertionError` with its end if there is none."""
    for line in text.splitlines():
        if line.startswith("CAPTIVE "):
            return cast("dict[str, Any]", json.loads(line.removeprefix("CAPTIVE ")))
    raise AssertionError(f"no report: {text[-300:]}")


async def seen(name: str) -> tuple[str, str]:
    """(kind, what was seen) of one of the captive's probes. All are run once, in one box."""
    async with _ONE:
        if not _SEEN:
            folder = Path(tempfile.mkdtemp(prefix="captive-"))
            try:
                _SEEN.update(await _all(folder))
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    return _SEEN[name]


async def _all(folder: Path) -> dict[str, tuple[str, str]]:
    owner = f"hostile-{uuid.uuid4().hex}"
    tools = _tools(folder)
    with host_that_listens() as host:
        async with held(folder, owner) as other, box(folder, owner, mounts=(Mount(tools, TOOLS),)) as inside:
            asked = {
                **host,
                "other": other,
                "attempts": [f"{path}/x" for path in other["paths"]],
                "readable": [TOOLS, "/opt/agents"],
                "setuid": [f"{TOOLS}/raised"] if os.geteuid() == 0 else [],
            }
            await inside.write(captive_files())
            command = ("python3", "-I", "captive", json.dumps(asked))
            ended = await inside.run(Command(command, {"PATH": PATH}, PATIENCE_S))
    try:
        return {name: (kind, what) for name, (kind, what) in told(ended).items()}
    except AssertionError as error:
        raise AssertionError(f"{error}; {ended.ending} {ended.detail} {ended.stderr.read_text()[-300:]}") from error


@asynccontextmanager
async def held(folder: Path, owner: str) -> AsyncIterator[dict[str, Any]]:
    """Another box that is at work, with sockets, memory and files of its own; what to look for."""
    name, key = f"honed-{uuid.uuid4().hex[:12]}", int.from_bytes(os.urandom(3), "big") + 1
    async with box(folder, owner, "other") as inside:
        work = asyncio.create_task(python(inside, HOLDER, name, str(key)))
        try:
            port = folder / "other" / "workspace" / "port"
            async with asyncio.timeout(PATIENCE_S):
                while not port.exists():
                    assert not work.done(), work.result().stderr.read_text()
                    await asyncio.sleep(0.05)
            paths = [str(folder / "other" / room) for room in ("workspace", "out")]
            yield {"name": name, "key": key, "port": int(port.read_text()), "paths": paths}
        finally:
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work


@contextmanager
def host_that_listens() -> Iterator[dict[str, Any]]:
    """A port on every address of the host, unix sockets by path and by abstract name; each is tried from here first."""
    name = f"\0honed-{uuid.uuid4().hex[:12]}"
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(_everywhere())
        port = tcp.getsockname()[1]
        hosts = sorted({"127.0.0.1", "172.17.0.1", "10.0.2.2", *_own_addresses()})
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(name)
        abstract.listen()
        with socket.create_connection(("127.0.0.1", port), timeout=10):
            pass
        with socket.socket(socket.AF_UNIX) as tried:
            tried.connect(name)
        yield {"hosts": hosts, "port": port, "abstract": [name]}


def _everywhere() -> socket.socket:
    if socket.has_dualstack_ipv6():
        with contextlib.suppress(OSError):
            return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", 0))


def _own_addresses() -> set[str]:
    with contextlib.suppress(OSError):
        return {str(each[4][0]) for each in socket.getaddrinfo(socket.gethostname(), None)}
    return set()


def _tools(folder: Path) -> Path:
    tools = folder / "tools"
    tools.mkdir(mode=0o755)
    shutil.copy("/usr/bin/id", tools / "raised")
    (tools / "raised").chmod(0o4755)
    return tools
