"""The conformance suite, second half: how commands end, what is left of them, and the one way out."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sandboxes.process import ProcessBox
from sandboxes.sandbox import MIB, Box, Command, Ended, Ending, Limits, Mount
from tests.support.sandboxes import PATH, Engine, docker_client, sh
from tests.support.waiting import LONGER_S, PATIENCE_S, until

MARK = "hone-survivor"


def survivors(word: str) -> list[str]:
    """Live processes of the whole host whose command line holds `word`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line and int(folder.name) != os.getpid():
            found.append(line)
    return found


async def eventually_gone(word: str) -> None:
    """Fail if processes stay; a moment is granted for what the kernel still tears down."""
    await until(lambda: not survivors(word), every_s=0.02)


@asynccontextmanager
async def running(
    box: Box, script: str, *, ready: str = "ready", deadline_s: float = PATIENCE_S
) -> AsyncIterator[asyncio.Task[Ended]]:
    """A command under way: entered once it has made the file `ready` in the workspace."""
    task = asyncio.create_task(sh(box, f"{script}", deadline_s=deadline_s))
    try:
        while ready not in (await box.collect()).files and not task.done():
            await asyncio.sleep(0.02)
        assert not task.done(), task.result()
        yield task
    finally:
        task.cancel()
        await asyncio.wait({task})


async def test_deadline_stops_a_command_that_ignores_signals(engine: Engine, tmp_path: Path) -> None:
    word = f"{MARK}-{time.time_ns()}"
    script = f"trap '' TERM INT HUP; echo before; while :; do sh -c 'sleep 600 # {word}'; done"
    async with engine.box(tmp_path) as box:
        for deadline_s in (0.7, *LONGER_S):
            ended = await sh(box, script, deadline_s=deadline_s)
            await eventually_gone(word)
            if ended.stdout.read_text():
                break  # it had begun before its deadline came

    assert ended.ending is Ending.DEADLINE
    assert ended.exit_code is None
    assert ended.stdout.read_text() == "before\n"
    assert f"{deadline_s:g} s" in ended.detail
    assert ended.wall_s > 0.6


async def test_the_box_is_usable_after_a_deadline(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        for deadline_s in (0.7, *LONGER_S):
            await sh(box, "echo partial >work; exec sleep 600", deadline_s=deadline_s)
            after = await sh(box, "cat work")
            if after.exit_code == 0:
                break  # it had begun before its deadline came

    assert (after.ending, after.stdout.read_text()) == (Ending.EXITED, "partial\n")


async def test_an_end_just_before_the_deadline_is_an_exit(engine: Engine, tmp_path: Path) -> None:
    async with engine.box(tmp_path) as box:
        ended = await sh(box, "sleep 0.2; exit 7", deadline_s=60)

    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 7)


@pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("SEGV", 139), ("KILL", 137)])
async def test_a_signal_from_inside_is_an_exit_code(engine: Engine, tmp_path: Path, signal: str, code: int) -> None:
    async with engine.box(tmp_path) as box:
        ended = await sh(box, f"kill -{signal} $$; sleep 5")

    if isinstance(box, ProcessBox) and signal == "KILL":
        # It cannot tell whose signal that was: invalid rather than scored.
        assert ended.ending is Ending.KILLED
    else:
        assert (ended.ending, ended.exit_code) == (Ending.EXITED, code)
    assert not ended.oom_seen


async def test_killed_from_outside(engine: Engine, tmp_path: Path) -> None:
    if "killed" in engine.lacks:
        return
    word = f"{MARK}-{time.time_ns()}"
    async with engine.box(tmp_path) as box:
        async with running(box, f"echo x >ready; sleep 600 # {word}") as task:
            engine.kill_from_outside(box)
            ended = await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)
        await eventually_gone(word)

    assert ended.ending is Ending.KILLED
    assert ended.exit_code is None
    assert ended.detail


async def test_out_of_memory_of_the_main_process(engine: Engine, tmp_path: Path) -> None:
    if "memory" in engine.lacks:
        lacks = " ".join((await engine.sandbox.facts()).lacks)
        assert "memory" in lacks or engine.sandbox.name == "fake"
        return
    eat = "b = bytearray(b'x' * 10**6); l = []\nwhile True: l.append(bytes(b))"
    async with engine.box(tmp_path, limits=Limits(memory_bytes=96 * MIB)) as box:
        ended = await box.run(Command(("python3", "-c", eat), {"PATH": PATH}, PATIENCE_S))

    assert ended.ending is Ending.OUT_OF_MEMORY
    assert ended.exit_code is None
    assert ended.oom_seen
    assert "memory_mb" in ended.detail


async def test_out_of_memory_of_a_child_is_seen_but_is_an_exit(engine: Engine, tmp_path: Path) -> None:
    if "memory" in engine.lacks:
        return
    script = """python3 -c "l = []
while True: l.append(b'x' * 10**6)"; echo "child $?"; exit 4"""
    async with engine.box(tmp_path, limits=Limits(memory_bytes=96 * MIB)) as box:
        ended = await sh(box, script)

    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 4)
    assert ended.oom_seen
    assert ended.stdout.read_text() == "child 137\n"


async def test_the_disk_bound_stops_the_command(engine: Engine, tmp_path: Path) -> None:
    limits = Limits(workspace_bytes=8 * MIB)
    script = "while :; do head -c 1000000 /dev/zero >>full; sleep 0.01; done"
    async with engine.box(tmp_path, limits=limits) as box:
        ended = await sh(box, script, deadline_s=PATIENCE_S)
        after = await sh(box, "rm full")

    assert ended.ending is Ending.OVER_DISK
    assert "8 MiB" in ended.detail
    assert after.ending is Ending.EXITED


async def test_a_flood_of_empty_files_is_bounded(engine: Engine, tmp_path: Path) -> None:
    limits = Limits(workspace_bytes=2 * MIB)
    async with engine.box(tmp_path, limits=limits) as box:
        cd = box.layout.out
        ended = await sh(box, f"cd {cd}; i=0; while :; do i=$((i+1)); : >f$i; done", deadline_s=PATIENCE_S)

    assert ended.ending is Ending.OVER_DISK


async def test_a_fork_bomb_is_bounded(engine: Engine, tmp_path: Path) -> None:
    if "pids" in engine.lacks:
        return
    bomb = "import os,time\nfor i in range(400):\n  if os.fork() == 0: time.sleep(60); os._exit(0)"
    limits = Limits(pids=64)
    async with engine.box(tmp_path, limits=limits) as box:
        ended = await box.run(Command(("python3", "-c", bomb), {"PATH": PATH}, PATIENCE_S))
        after = await sh(box, "echo fine")

    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 1)
    assert b"BlockingIOError" in ended.stderr.read_bytes()
    assert after.stdout.read_text() == "fine\n"


async def test_nothing_in_the_background_outlives_the_command(engine: Engine, tmp_path: Path) -> None:
    if "survivors" in engine.lacks:
        return
    word = f"{MARK}-{time.time_ns()}"
    # A daemon in its own session with nothing of ours open, which would spoil the workspace later.
    daemon = f"setsid sh -c 'while :; do echo late >>late; sleep 0.05; done # {word}' </dev/null >/dev/null 2>&1 &"
    async with engine.box(tmp_path) as box:
        ended = await sh(box, f"{daemon} while [ ! -s late ]; do sleep 0.05; done; echo done")
        survived = survivors(word)
        before = (await box.collect()).files["late"]
        await asyncio.sleep(0.3)
        after = (await box.collect()).files["late"]

    assert ended.stdout.read_text() == "done\n"
    assert survived == []
    assert before == after


async def test_cancelling_leaves_nothing(engine: Engine, tmp_path: Path) -> None:
    word = f"{MARK}-{time.time_ns()}"
    async with engine.box(tmp_path) as box:
        async with running(box, f"echo x >ready; trap '' TERM; sleep 600 # {word}") as task:
            assert survivors(word)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            if "survivors" not in engine.lacks:
                assert survivors(word) == []
        await eventually_gone(word)
        assert (await sh(box, "echo again")).stdout.read_text() == "again\n"


@pytest.mark.parametrize("after_s", [0.0, 0.005, 0.05, 0.15, 0.3])
async def test_cancelling_at_any_moment_leaves_nothing(engine: Engine, tmp_path: Path, after_s: float) -> None:
    word = f"{MARK}-{time.time_ns()}"
    async with engine.box(tmp_path) as box:
        task = asyncio.create_task(sh(box, f"sleep 600 # {word}"))
        await asyncio.sleep(after_s)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await eventually_gone(word)


async def test_cancelling_again_and_again_leaves_nothing(engine: Engine, tmp_path: Path) -> None:
    word = f"{MARK}-{time.time_ns()}"
    async with engine.box(tmp_path) as box, running(box, f"echo x >ready; sleep 600 # {word}") as task:
        while not task.done():
            task.cancel()
            await asyncio.sleep(0.001)
        assert task.cancelled()
    await eventually_gone(word)


async def test_leaving_the_box_stops_what_runs(engine: Engine, tmp_path: Path) -> None:
    word = f"{MARK}-{time.time_ns()}"
    async with engine.box(tmp_path) as box:
        task = asyncio.create_task(sh(box, f"echo x >ready; sleep 600 # {word}"))
        while "ready" not in (await box.collect()).files:
            await asyncio.sleep(0.02)
    ended = await asyncio.wait_for(task, PATIENCE_S)
    await eventually_gone(word)

    assert ended.ending in {Ending.KILLED, Ending.LOST}


async def test_a_removed_container_is_lost(engine: Engine, tmp_path: Path) -> None:
    if "lost" in engine.lacks:
        return
    async with engine.box(tmp_path) as box, running(box, "echo said; echo x >ready; sleep 600") as task:
        with docker_client() as client:
            client.api.remove_container(box.container_name(1), force=True)
        ended = await asyncio.wait_for(asyncio.shield(task), PATIENCE_S)

    assert ended.ending is Ending.LOST
    assert ended.exit_code is None
    assert ended.detail
    assert ended.stdout.read_text() == "said\n"


async def test_no_network(engine: Engine, tmp_path: Path) -> None:
    if "isolation" in engine.lacks:
        if engine.sandbox.name != "fake":
            assert not (await engine.sandbox.facts()).isolated
        return
    probe = """
import socket, time
began = time.monotonic()
for family, address in ((socket.AF_INET, ("192.0.2.1", 80)), (socket.AF_INET6, ("2001:db8::1", 80))):
    s = socket.socket(family); s.settimeout(10)
    try: s.connect(address); print("connected")
    except OSError as error: print(error.strerror)
try: socket.getaddrinfo("example.com", 80); print("resolved")
except OSError as error: print("no name")
print(sorted(name for _, name in socket.if_nameindex()), time.monotonic() - began < 9.5)  # a resolver waits ten
"""
    async with engine.box(tmp_path) as box:
        ended = await box.run(Command(("python3", "-c", probe), {"PATH": PATH}, PATIENCE_S))

    lines = ended.stdout.read_text().splitlines()
    assert lines[0] == "Network is unreachable"
    assert lines[1] in {"Network is unreachable", "Cannot assign requested address"}
    assert lines[2:] == ["no name", "['lo'] True"], ended.stderr.read_text()


ASK = """
import http.client, socket, sys
if sys.argv[1].startswith("http"):
    c = http.client.HTTPConnection(sys.argv[1].removeprefix("http://"), timeout=60)
else:
    c = http.client.HTTPConnection("localhost", timeout=60)
    c.sock = socket.socket(socket.AF_UNIX); c.sock.connect(sys.argv[1])
for body in ("small", "x" * 300_000):
    c.request("POST", "/v1/messages", body)
    answer = c.getresponse().read().decode()
    print(answer[:22], len(answer))
"""


async def test_the_gateway_is_reached_over_its_socket(engine: Engine, tmp_path: Path, gateway_socket: Path) -> None:
    async with engine.box(tmp_path, gateway_socket=gateway_socket) as box:
        socket = box.layout.gateway_socket
        assert socket is not None
        ended = await box.run(Command(("python3", "-c", ASK, socket), {"PATH": PATH}, PATIENCE_S))

    assert ended.stdout.read_text() == "door /v1/messages small 23\ndoor /v1/messages xxxx 300018\n".replace(
        "small 23", "smal 23"
    ), ended.stderr.read_text()


async def test_the_gateway_is_reached_through_the_forwarder(
    engine: Engine, tmp_path: Path, gateway_socket: Path
) -> None:
    if "forward" in engine.lacks:
        return
    async with engine.box(tmp_path, gateway_socket=gateway_socket) as box:
        url = box.layout.model_url
        assert url is not None
        assert url.startswith("http://127.0.0.1:")
        argv = ("python3", "-c", f"{ASK}\nraise SystemExit(9)", url)
        ended = await box.run(Command(argv, {"PATH": PATH}, PATIENCE_S, forward=True))
        again = await box.run(Command(argv, {"PATH": PATH}, PATIENCE_S, forward=True))

    expected = "door /v1/messages smal 23\ndoor /v1/messages xxxx 300018\n"
    assert ended.stdout.read_text() == again.stdout.read_text() == expected, ended.stderr.read_text()
    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 9)
    assert ended.stderr.read_bytes() == b""


async def test_python_forwards_where_the_box_has_no_socat(engine: Engine, tmp_path: Path, gateway_socket: Path) -> None:
    if {"forward", "isolation"} & engine.lacks:
        return  # the process engine always forwards by the packaged script, on the host
    hidden = tmp_path / "no-socat"
    hidden.touch(mode=0o644)
    mounts = (Mount(hidden, "/usr/bin/socat"),)
    async with engine.box(tmp_path, gateway_socket=gateway_socket, mounts=mounts) as box:
        url = box.layout.model_url
        assert url is not None
        ended = await box.run(Command(("python3", "-c", ASK, url), {"PATH": PATH}, PATIENCE_S, forward=True))
        processes = await sh(box, "cat /proc/[0-9]*/cmdline", forward=True)

    assert ended.stdout.read_text() == "door /v1/messages smal 23\ndoor /v1/messages xxxx 300018\n"
    assert "\0-I\0/run/forward.py\0" in processes.stdout.read_text()


async def test_the_forwarder_is_no_child_of_the_command(engine: Engine, tmp_path: Path, gateway_socket: Path) -> None:
    if "forward" in engine.lacks:
        return
    probe = "import os\ntry: os.waitpid(-1, os.WNOHANG); print('has children')\nexcept ChildProcessError: print('none')"
    async with engine.box(tmp_path, gateway_socket=gateway_socket) as box:
        ended = await box.run(Command(("python3", "-c", probe), {"PATH": PATH}, PATIENCE_S, forward=True))

    assert ended.stdout.read_text() == "none\n"


async def test_deadline_ends_the_forwarder_too(engine: Engine, tmp_path: Path, gateway_socket: Path) -> None:
    if "forward" in engine.lacks:
        return
    async with engine.box(tmp_path, gateway_socket=gateway_socket) as box:
        ended = await sh(box, "exec sleep 60", deadline_s=0.7, forward=True)
        inside = f"UNIX-CONNECT:{box.layout.gateway_socket}"
        await eventually_gone(inside)

    assert ended.ending is Ending.DEADLINE
