"""Memory, processes, open files, processor time, streams and logs of a box stay within its limits."""

from __future__ import annotations

import asyncio
import time

from sandboxes.sandbox import MIB, Ending, Limits
from tests.hostile.attack import Area, Stage, attack, holds
from tests.support.captives import box, python
from tests.support.sandboxes import docker_client

SMALL = Limits(memory_bytes=256 * MIB, pids=100, tmpfs_bytes=16 * MIB, stream_bytes=MIB)


@attack(Area.SANDBOX, "takes memory without end", expected="killed for memory, told apart", needs_engine=True)
async def memory_without_end(stage: Stage) -> str:
    async with box(stage.folder, stage.owner, limits=SMALL) as inside:
        ended = await python(inside, "kept = []\nwhile True: kept.append(bytearray(8 << 20))")
    return holds(ended.ending is Ending.OUT_OF_MEMORY, f"{ended.ending}: {ended.detail}")


@attack(
    Area.SANDBOX,
    "takes memory that belongs to no process: files in /tmp, the home and /dev/shm",
    expected="each ends at its size; together they count as the box's memory",
    needs_engine=True,
)
async def memory_in_files(stage: Stage) -> str:
    code = """
import os
for folder in ("/tmp", "/home/agent", "/dev/shm"):
    done = 0
    try:
        with open(folder + "/big", "wb", 0) as file:
            while True: done += file.write(bytes(1 << 20))
    except OSError as error: print(folder, done >> 20, error.strerror, flush=True)
"""
    async with box(stage.folder, stage.owner, limits=SMALL) as inside:
        ended = await python(inside, code)
    lines = ended.stdout.read_text().splitlines()
    sizes = [int(line.split()[1]) for line in lines]
    return holds(len(lines) == 3 and max(sizes) <= 64, "; ".join(lines) or str(ended.ending))


@attack(Area.SANDBOX, "forks without end", expected="no more than 100 processes, then EAGAIN", needs_engine=True)
async def fork_bomb(stage: Stage) -> str:
    code = """
import os, time
made = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(60); os._exit(0)
        made += 1
except OSError as error: print(made, error.strerror, flush=True)
"""
    async with box(stage.folder, stage.owner, limits=SMALL) as inside:
        ended = await python(inside, code)
    told = ended.stdout.read_text().split()
    return holds(told and 0 < int(told[0]) <= 100, " ".join(told) or str(ended.ending))


@attack(Area.SANDBOX, "starts threads without end", expected="they count as processes", needs_engine=True)
async def thread_bomb(stage: Stage) -> str:
    code = """
import threading, time
made = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); made += 1
except RuntimeError as error: print(made, error, flush=True)
import os; os._exit(0)
"""
    async with box(stage.folder, stage.owner, limits=SMALL) as inside:
        ended = await python(inside, code)
    told = ended.stdout.read_text().split()
    return holds(told and 0 < int(told[0]) <= 100, " ".join(told) or str(ended.ending))


@attack(Area.SANDBOX, "opens files without end", expected="EMFILE at 8,192", needs_engine=True)
async def open_files_without_end(stage: Stage) -> str:
    code = """
import os, resource
try: resource.setrlimit(resource.RLIMIT_NOFILE, (100000, 100000)); print("raised")
except ValueError: pass
kept = []
try:
    while True: kept.append(os.dup(1))
except OSError as error: print(len(kept), error.strerror)
"""
    async with box(stage.folder, stage.owner, limits=SMALL) as inside:
        ended = await python(inside, code)
    told = ended.stdout.read_text().split()
    return holds(told and told[0].isdigit() and int(told[0]) <= 8192, " ".join(told))


@attack(
    Area.SANDBOX,
    "floods stdout and stderr",
    expected="1 MiB of each kept on the host, the rest dropped, and it ends by itself",
    needs_engine=True,
)
async def flood_of_output(stage: Stage) -> str:
    code = "import os\nfor _ in range(40):\n    for stream in (1, 2):\n        os.write(stream, bytes(1 << 20))"
    async with box(stage.folder, stage.owner, limits=SMALL) as inside:
        ended = await python(inside, code)
    kept = (ended.stdout.stat().st_size, ended.stderr.stat().st_size)
    observed = f"{ended.ending}, {kept[0]} and {kept[1]} bytes kept"
    return holds(kept == (MIB, MIB) and ended.stdout_cut and ended.ending is Ending.EXITED, observed)


@attack(Area.SANDBOX, "fills the engine's log with its output", expected="the engine keeps no log", needs_engine=True)
async def flood_of_the_log(stage: Stage) -> str:
    code = """
import os, time
for _ in range(40): os.write(1, b"x" * 100000)
open("/workspace/told", "w"); time.sleep(600)
"""
    async with box(stage.folder, stage.owner, limits=SMALL) as inside:
        work = asyncio.create_task(python(inside, code))
        async with asyncio.timeout(120):
            while not (stage.folder / "captive" / "workspace" / "told").exists():
                await asyncio.sleep(0.05)
        found = await asyncio.to_thread(_logs, stage.owner)
        work.cancel()
        await asyncio.wait({work})
    return holds(found == [("none", "")], f"log driver and file: {found}")


def _logs(owner: str) -> list[tuple[str, str]]:
    with docker_client() as client:
        listed = client.api.containers(filters={"label": f"honed.owner={owner}"})
        found = [client.api.inspect_container(each["Id"]) for each in listed]
    return [(each["HostConfig"]["LogConfig"]["Type"], each["LogPath"]) for each in found]


@attack(
    Area.SANDBOX,
    "ignores every signal and the deadline, in a busy loop on all processors",
    expected="stopped at the deadline, no faster than its share",
    needs_engine=True,
)
async def deadline_ignored(stage: Stage) -> str:
    code = """
import os, signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(4): os.fork()
while True: pass
"""
    began = time.monotonic()
    async with box(stage.folder, stage.owner, limits=Limits(cpus=0.5, pids=64)) as inside:
        ended = await python(inside, code, deadline_s=2)
    return holds(ended.ending is Ending.DEADLINE, f"{ended.detail}; gone after {time.monotonic() - began:.0f} s")
