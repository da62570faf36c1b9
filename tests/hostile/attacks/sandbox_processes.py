"""Nothing of a command outlives it, and a box's processes reach nothing outside: counted on the host itself."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from sandboxes.sandbox import Ending
from tests.hostile.attack import Area, Attack, Stage, UntriedError, add, attack, holds
from tests.support.captives import box, python

LEAVE = {
    "child": ("leaves a child behind", "if os.fork() == 0: stay()"),
    "daemon": (
        "leaves a daemon behind: forked twice, in a session of its own, every signal ignored",
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        deaf(); stay()\n    os._exit(0)",
    ),
    "holder": (
        "leaves a process behind that holds stdout open",
        "if os.fork() == 0:\n    os.setsid(); deaf(); time.sleep(1000)",
    ),
    "forker": (
        "leaves a process behind that replaces itself all the time",
        "if os.fork() == 0:\n    os.setsid()\n    while True:\n        if os.fork(): os._exit(0)",
    ),
}
CODE = """
import os, signal, sys, time
def deaf():
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
def stay():
    os.closerange(0, 3)
    while True: time.sleep(1000)
"""


def alive(mark: str) -> list[int]:
    """Processes of this host that carry the mark in their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in words:
                found.append(int(folder.name))
    return found


def _row(name: str, what: str, code: str) -> None:
    async def run(stage: Stage) -> str:
        mark = f"mark-{uuid.uuid4().hex}"
        async with box(stage.folder, stage.owner) as inside:
            ended = await python(inside, f"{CODE}\n{code}\nprint('left')", mark)
            left = alive(mark)
        observed = f"{ended.ending} {ended.exit_code} after {ended.wall_s:.1f} s, {len(left)} left on the host"
        return holds(not left and ended.ending is Ending.EXITED and "left" in ended.stdout.read_text(), observed)

    expected = "ends with its command, nothing left on the host"
    add(Attack(Area.SANDBOX, f"leave-a-{name}", what, expected, run, needs_engine=True))


for _name, (_what, _code) in LEAVE.items():
    _row(_name, _what, _code)


@attack(
    Area.SANDBOX,
    "signals every process that it can see and name, and every number there is",
    expected="its own alone: the host's process is alive",
    needs_engine=True,
)
async def signal_everything(stage: Stage) -> str:
    code = f"""
import os, signal
hit = []
for pid in [{os.getpid()}, {os.getppid()}, *range(2, 5000)]:
    if pid != os.getpid():
        try: os.kill(pid, 0); hit.append(pid)
        except OSError: pass
print(hit, flush=True)
try: os.kill(1, signal.SIGSTOP); os.kill(1, signal.SIGKILL)
except OSError as error: print(error)
os.kill(-1, signal.SIGKILL)
"""
    async with box(stage.folder, stage.owner) as inside:
        ended = await python(inside, code)
    return holds(
        ended.stdout.read_text().splitlines()[:1] == ["[]"],
        f"reached {ended.stdout.read_text().strip()}; {ended.ending}",
    )


@attack(
    Area.SANDBOX,
    "ends itself while a background process goes on writing into the workspace",
    expected="not a byte after the end",
    needs_engine=True,
)
async def writing_after_the_end(stage: Stage) -> str:
    code = """
import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        with open("/workspace/late", "a") as file: file.write("x")
while not os.path.exists("/workspace/late"): time.sleep(0.01)
"""
    async with box(stage.folder, stage.owner) as inside:
        await python(inside, code)
        late = stage.folder / "captive" / "workspace" / "late"
        before = late.stat().st_size
        await python(inside, "import time; time.sleep(0.5)")
        after = late.stat().st_size
    if before == 0:
        raise UntriedError("the background process did not write")
    return holds(after == before, f"{before} bytes at the end, {after} later")
