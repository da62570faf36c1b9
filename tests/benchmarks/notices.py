"""How fast the daemon notices, from the change on disk to the cause, and what a look at an unchanged project costs."""

from __future__ import annotations

import asyncio
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path
from statistics import median

from daemon.config_daemon import DaemonSection
from daemon.notices.watcher import Watcher
from tests.benchmarks.bare import BenchError
from tests.benchmarks.results import Result
from tests.support.honed_cli import git
from tests.support.notices import Watched, a_watched

SETTINGS = DaemonSection()
LIMIT_S = 60.0


async def notices(n: int, say: Callable[[str], None]) -> dict[str, Result]:
    """`notices.*`: with the default debounce, from a saved task file and from a push to the cause; and an idle look."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        watched = _project(folder)
        await watched.causes()
        saved, pushed = await _reactions(watched, n, say)
        walls, cpu = await _idle(watched, 10 * n)
    say(f"idle look: {median(walls):.4f} s, {cpu:.4f} s of processor time")
    note = f"debounce {SETTINGS.debounce_s:g} s"
    return {
        "notices.task_file_s": Result(median(saved), "s", n, f"{min(saved):.3f}-{max(saved):.3f}, {note}"),
        "notices.push_s": Result(median(pushed), "s", n, f"{min(pushed):.3f}-{max(pushed):.3f}, {note}"),
        "notices.idle_look_s": Result(median(walls), "s", len(walls), f"{min(walls):.4f}-{max(walls):.4f}"),
        "notices.idle_look_cpu_s": Result(cpu, "s", len(walls), "with its git processes"),
    }


def _project(folder: Path) -> Watched:
    """A project whose skill lies in a bare repository that its own clone pushes to."""
    made = a_watched(folder / "project")
    git(folder, "clone", "--quiet", "--bare", str(made.folder), "bare")
    git(made.folder, "remote", "add", "origin", str(folder / "bare"))
    made.change_config('path = "skills/xlsx"', 'path = "skills/xlsx"\nrepository = "../bare"')
    return Watched(made.folder)


async def _reactions(watched: Watched, n: int, say: Callable[[str], None]) -> tuple[list[float], list[float]]:
    """Seconds from a saved task file, and from the begin of a push."""
    saved: list[float] = []
    pushed: list[float] = []
    watcher = Watcher([watched.project], debounce_s=SETTINGS.debounce_s, poll_s=LIMIT_S * 10)
    async with watcher, aclosing(watcher.changes()) as changes:

        async def until(kind: str, began: float) -> float:
            async with asyncio.timeout(LIMIT_S):
                while kind not in await _next(watched, changes):
                    pass
            return time.perf_counter() - began

        for turn in range(n):
            began = time.perf_counter()
            watched.save_tasks([{**row, "prompt": f"{row['prompt']} {turn}"} for row in watched.tasks()])
            saved.append(await until("tasks", began))
            watched.commit(f"Change {turn}", f"- {turn}")
            began = time.perf_counter()
            await asyncio.to_thread(git, watched.folder, "push", "--quiet", "origin", "main")
            pushed.append(await until("skill", began))
            say(f"noticed {turn + 1}: task file {saved[-1]:.3f} s, push {pushed[-1]:.3f} s")
    return saved, pushed


async def _next(watched: Watched, changes: AsyncIterator[set[str]]) -> list[str]:
    await anext(changes)
    return await watched.kinds()


async def _idle(watched: Watched, n: int) -> tuple[list[float], float]:
    """Wall seconds of each look, and processor seconds of one, git's processes included."""
    await asyncio.sleep(0.1)
    if await watched.causes():
        raise BenchError("something changed by itself")
    walls, before = [], _cpu()
    for _ in range(n):
        began = time.perf_counter()
        await watched.causes()
        walls.append(time.perf_counter() - began)
    return walls, (_cpu() - before) / n


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
