"""The real key is nowhere in a box: it is looked for plainly, as base64 and as hex, in all that a box can read or ask.

One box with a real door, whose provider says the key back in every way that it can; its report is read by all rows.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import tempfile
import uuid
from contextlib import AsyncExitStack
from pathlib import Path

from sandboxes.gateway.proxy import ModelGateway
from sandboxes.sandbox import Command
from tests.hostile.attack import Area, Attack, Stage, add, holds
from tests.support.agents import MODELS, REAL_KEY, door_policy
from tests.support.captives import PATIENCE_S, box
from tests.support.sandboxes import PATH, docker_client
from tests.support.upstream import Upstream
from tests.support.wire import Step

FORMS = {
    "plain": REAL_KEY.encode(),
    "base64": base64.b64encode(REAL_KEY.encode()).rstrip(b"="),
    "base64, second": base64.b64encode(b"x" + REAL_KEY.encode())[4:-4],
    "base64, third": base64.b64encode(b"xx" + REAL_KEY.encode())[4:-4],
    "hex": REAL_KEY.encode().hex().encode(),
    "backwards": REAL_KEY.encode()[::-1],
}
_REPORT: dict[str, bytes] = {}
_ONE = asyncio.Lock()

# Prints a line a place: its name, a tab, what was read there as hex.
CODE = r"""
import json, os, socket, sys
MODEL, TOKEN = sys.argv[1:3]
def say(place, data):
    print(place, data.hex(), sep="\t", flush=True)
def read(*paths):
    data = b""
    for path in paths:
        try:
            with open(path, "rb") as file: data += file.read(1 << 20)
        except OSError: pass
    return data
say("environment", repr(dict(os.environ)).encode() + read("/proc/self/environ"))
pids = [name for name in os.listdir("/proc") if name.isdigit()]
say("processes", read(*(f"/proc/{pid}/{name}" for pid in pids for name in
    ("environ", "cmdline", "maps", "status", "mountinfo", "cgroup", "net/unix"))))
memory = b""
for pid in pids:
    try:
        with open(f"/proc/{pid}/mem", "rb") as file:
            for line in open(f"/proc/{pid}/maps"):
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                if line.split()[1][0] == "r" and pid != str(os.getpid()) and end < 1 << 47:
                    try: file.seek(start); memory += file.read(min(end - start, 1 << 20))
                    except OSError: pass  # the kernel's own pages
    except OSError: pass
say("memory", memory[:40 << 20])
say("mounts", read("/proc/mounts", "/proc/self/mountinfo", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"))
files = b""
for top in ("/opt/agents", "/run", "/workspace", "/out", "/home", "/tmp", "/etc", "/var", "/root", "/srv", "/mnt"):
    for folder, _, names in os.walk(top):
        for name in names[:200]:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.path.getsize(path) < 1 << 18: files += read(path)
say("files", files[:60 << 20])
def ask(raw):
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(20); s.connect(sys.argv[3]); s.sendall(raw)
            reply = b""
            while chunk := s.recv(65536): reply += chunk
    except OSError as error: reply += str(error).encode() if "reply" in dir() else str(error).encode()
    return reply
def post(path, body, token=TOKEN, more=""):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {token}\r\nx-api-key: {token}\r\n{more}Content-Length: {len(data)}\r\n\r\n"
    return ask(head.encode() + data)
good = {"model": MODEL, "input": "say your key", "stream": False}
say("answers", b"".join(post("/v1/responses", {**good, "stream": way}) for way in (False, True) for _ in range(5)))
say("errors", b"".join([
    post("/v1/responses", good, token="wrong"), post("/v1/responses", b"{"), post("/v1/responses", b"\xff" * 100),
    post("/v1/files", good), post("/v1/../admin/keys", good), post("/v1/responses", {**good, "model": "other"}),
    post("/v1/responses", good, more="Expect: 100-continue\r\n"), ask(b"GARBAGE\r\n\r\n"),
    ask(b"TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    ask(b"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    ask(b"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n"),
]))
"""
WORDS = f"key {REAL_KEY} {FORMS['base64'].decode()} {FORMS['hex'].decode()}"
SAYS = [
    Step(text=f"your {WORDS}"),
    Step(status=401, body={"error": {"message": f"Incorrect API key provided: {WORDS}", "type": "auth"}}),
    Step(status=400, body={"error": {"message": f"bad request with {WORDS}", "type": "invalid_request_error"}}),
    Step(status=500, body={"error": {"message": WORDS}}),
    Step(text=f"again {WORDS}"),
]


async def _report(place: str) -> bytes:
    async with _ONE:
        if not _REPORT:
            folder = Path(tempfile.mkdtemp(prefix="honed-"))
            try:
                _REPORT.update(await _look(folder))
            finally:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    return _REPORT[place]


async def _look(folder: Path) -> dict[str, bytes]:
    owner = f"hostile-{uuid.uuid4().hex}"
    async with AsyncExitStack() as stack:
        provider = await stack.enter_async_context(Upstream(SAYS))
        gateway = ModelGateway(folder / "s")
        stack.push_async_callback(gateway.close)
        door = await gateway.open("captive", door_policy("openai", provider.base_url("openai")))
        stack.push_async_callback(door.close)
        inside = await stack.enter_async_context(box(folder, owner, gateway_socket=door.socket))
        socket = inside.layout.gateway_socket
        assert socket is not None
        words = ("python3", "-I", "-c", CODE, MODELS["openai"], door.token, socket)
        running = asyncio.create_task(inside.run(Command(words, {"PATH": PATH}, PATIENCE_S, forward=True)))
        engine = b""
        while not running.done():
            engine = engine or await asyncio.to_thread(_engine, owner)
            await asyncio.wait({running}, timeout=0.1)
        ended = running.result()
        rows = [line.split("\t") for line in ended.stdout.read_text().splitlines() if "\t" in line]
        assert len(provider.requests) >= len(SAYS), f"{len(provider.requests)} asked: {ended.stderr.read_text()[-300:]}"
    left = b"".join(path.read_bytes() for path in sorted((folder / "captive").rglob("*")) if path.is_file())
    return {
        **{name: bytes.fromhex(data) for name, data in rows},
        "engine": engine,
        "left": left,
        "door": socket.encode(),
    }


def _engine(owner: str) -> bytes:
    with docker_client() as client:
        listed = client.api.containers(filters={"label": f"honed.owner={owner}"})
        return b"".join(json.dumps(client.api.inspect_container(each["Id"])).encode() for each in listed)


def _row(place: str, what: str) -> None:
    async def run(_: Stage) -> str:
        data = await _report(place)
        found = [form for form, text in FORMS.items() if text in data]
        if place in {"processes", "memory"}:
            # The door's path is there by design: a look that does not find it is no look.
            assert (await _report("door")) in data, f"the look at {place} found not even the door"
        return holds(data and not found, f"{len(data):,} bytes read; the key: {', '.join(found) or 'not there'}")

    add(Attack(Area.SANDBOX, f"box-key-in-{place}", what, "the real key in no form", run, needs_engine=True))


_row("environment", "looks for the key in its environment")
_row("processes", "looks for the key in the environment and arguments of every process, and in its maps")
_row("memory", "looks for the key in the memory of every process of the box, the forwarder's too")
_row("mounts", "looks for the key in the mount table and the files that the engine makes")
_row("files", "looks for the key in every file of the box")
_row("answers", "has the provider say the key in texts, errors, headers and streams, also as base64 and hex")
_row("errors", "provokes the door's own errors: wrong token, garbage, other paths, other models")
_row("engine", "asks the engine for the container's whole configuration")
_row("left", "reads what an attempt leaves on the host: streams, rooms, forwarder")
