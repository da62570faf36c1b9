from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from sandboxes.forward import port_of, serve
from sandboxes.sandbox import Command, Layout, SandboxError
from sandboxes.wrapper import FORWARD_PORT, forwarder_failed, inner_argv
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE_S

LAYOUT = Layout("/workspace", "/home/agent", "/tmp", "/out", "/opt/agents", "/run/gateway/s", "http://127.0.0.1:18080")


def test_environment_is_sorted_and_exact() -> None:
    argv = inner_argv(Command(("prog", "-x"), {"Z": "1", "A": "two words"}, 1), LAYOUT)

    assert argv == ("/usr/bin/env", "-i", "A=two words", "Z=1", "prog", "-x")


def test_forwarding_wraps_the_same_words() -> None:
    plain = inner_argv(Command(("prog",), {"A": "1"}, 1), LAYOUT)
    wrapped = inner_argv(Command(("prog",), {"A": "1"}, 1, forward=True), LAYOUT)

    assert wrapped[-len(plain) :] == plain
    assert wrapped[:2] == ("/bin/sh", "-c")
    assert wrapped[4:8] == ("/run/gateway/s", "18080", f"{FORWARD_PORT:04X}", "/run/forward.py")
    assert f"{FORWARD_PORT:04X}" == "46A0", "as /proc/net/tcp writes it"


@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
def test_the_wrapper_is_valid_shell(shell: str) -> None:
    if not Path(shell).exists():
        pytest.skip(f"no {shell}")
    script = inner_argv(Command(("prog",), {}, 1, forward=True), LAYOUT)[2]

    subprocess.run([shell, "-n", "-c", script], check=True)


def test_the_wrapper_says_when_nothing_can_forward(tmp_path: Path) -> None:
    """A box with neither socat nor python3: the complaint is told from a command's own exit 125."""
    argv = inner_argv(Command(("true",), {}, 1, forward=True), LAYOUT)
    stderr = tmp_path / "stderr"
    with stderr.open("wb") as file:
        done = subprocess.run(argv, env={"PATH": str(tmp_path)}, stderr=file, check=False)

    assert done.returncode == 125
    assert "neither socat nor python3" in forwarder_failed(done.returncode, stderr)
    assert forwarder_failed(1, stderr) == ""
    stderr.write_bytes(b"something else")
    assert forwarder_failed(125, stderr) == ""


@pytest.mark.parametrize(
    ("argv", "env", "match"),
    [
        ((), {}, "bad command"),
        (("A=b",), {}, "bad command"),
        (("-c",), {}, "bad command"),
        (("x", "a\0"), {}, "bad command"),
        (("x",), {"": "1"}, "bad environment"),
        (("x",), {"A=B": "1"}, "bad environment"),
        (("x",), {"-u": "1"}, "bad environment"),
        (("x",), {"A": "\0"}, "bad environment"),
    ],
)
def test_what_cannot_be_passed_on_is_refused(argv: tuple[str, ...], env: dict[str, str], match: str) -> None:
    with pytest.raises(SandboxError, match=match):
        inner_argv(Command(argv, env, 1), LAYOUT)


def test_forwarding_needs_a_door() -> None:
    closed = Layout("/workspace", "/home/agent", "/tmp", "/out", "/opt/agents", None, None)

    with pytest.raises(SandboxError, match="gateway_socket"):
        inner_argv(Command(("x",), {}, 1, forward=True), closed)


async def echo_server(path: Path) -> asyncio.Server:
    async def upper(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = await reader.read()
        writer.write(data.upper())
        await writer.drain()
        writer.close()

    return await asyncio.start_unix_server(upper, path)


async def ask(port: int, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
    writer.close()
    return answer


async def test_forward_passes_bytes_and_half_closes(tmp_path: Path) -> None:
    async with await echo_server(tmp_path / "s"), await serve(str(tmp_path / "s")) as forward:
        port = port_of(forward)
        big = b"x" * 1_000_000
        answers = await asyncio.gather(ask(port, b"hello"), ask(port, big), ask(port, b""))

    assert answers == [b"HELLO", big.upper(), b""]


async def test_forward_drops_connections_while_the_door_is_shut(tmp_path: Path) -> None:
    async with await serve(str(tmp_path / "missing")) as forward:
        with pytest.raises(ConnectionResetError):
            await ask(port_of(forward), b"hello")


async def test_two_forwarders_take_ports_of_their_own(tmp_path: Path) -> None:
    async with await serve(str(tmp_path / "a")) as one, await serve(str(tmp_path / "b")) as two:
        assert port_of(one) != port_of(two)


async def test_forward_runs_as_a_lone_script(tmp_path: Path) -> None:
    """As in a box without socat: isolated mode, nothing but the standard library."""
    import sys

    from sandboxes.wrapper import FORWARD_SCRIPT

    port = free_port()
    process = subprocess.Popen([sys.executable, "-I", "-S", FORWARD_SCRIPT, str(port), str(tmp_path / "s")], env={})
    try:
        async with await echo_server(tmp_path / "s"):
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    try:
                        assert await ask(port, b"script") == b"SCRIPT"
                        break
                    except ConnectionRefusedError:
                        assert process.poll() is None, "it never listened"
                        await asyncio.sleep(0.02)
    finally:
        process.kill()
        os.waitpid(process.pid, 0)
        process.returncode = 0
