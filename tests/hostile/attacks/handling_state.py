"""The state folder under careless umasks, and under strict ones."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from functools import partial
from pathlib import Path

from tests.hostile.attack import Area, Attack, Stage, add, holds

_WRITES = """
import os, sys
from pathlib import Path
os.umask(int(sys.argv[1], 8))
state = Path(sys.argv[2]) / ".honed"
if sys.argv[3] == "old":
    state.mkdir(mode=0o777)
from daemon.journal.lock import state_lock
from harnesses.keep import write_summary
with state_lock(state):
    write_summary(state / "attempts" / "a-1", "chat", "GOLD")
    (state / "loose").write_text("GOLD")
"""
_READS = """
import os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for path in sys.argv[1:]:
    try:
        print(open(path).read())
    except OSError:
        pass
"""


async def _python(script: str, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, *arguments, stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"exit {process.returncode}")
    return out.decode()


async def state_read_by_others(umask: str, age: str, stage: Stage) -> str:
    stage.folder.chmod(0o755)
    await _python(_WRITES, umask, str(stage.folder), age)
    state = stage.folder / ".honed"
    mode, files = stat.S_IMODE(state.stat().st_mode), [path for path in state.rglob("*") if path.is_file()]
    summary = next(path for path in files if "a-1" in path.parts)
    closed = mode == 0o700 and not stat.S_IMODE(summary.stat().st_mode) & 0o077
    read = ""
    if os.getuid() == 0:
        read = await _python(_READS, *map(str, files))
        state.chmod(0o755)  # the control: with the folder open, another user reads what the umask left open
        if umask == "000" and "GOLD" not in await _python(_READS, str(state / "loose")):
            raise AssertionError("the reader cannot read what is open either")
    return holds(closed and "GOLD" not in read, f"folder {mode:04o}, summary 0600; another user read {read!r}")


for _umask, _age in (("000", "new"), ("000", "old"), ("077", "new")):
    add(
        Attack(
            Area.HANDLING,
            f"state-under-umask-{_umask}-{_age}",
            f"another user reads the state folder, {_age}, under umask {_umask}",
            "mode 0700, and nothing of an attempt can be read",
            partial(state_read_by_others, _umask, _age),
            False,
        )
    )
