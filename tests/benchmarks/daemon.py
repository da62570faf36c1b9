"""What a real `honed daemon` needs while nothing happens, and how fast it reacts: from the act to the first attempt.

An attempt's begin is read from the journal, which has its row before anything is paid. Both clocks are the machine's.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

from tests.benchmarks.bare import BenchError
from tests.benchmarks.results import Result
from tests.support.daemons import Daemon, daemon
from tests.support.honed_cli import git
from tests.support.projects import demo_project

Say = Callable[[str], None]
KEEP = {"train": 2, "selection": 4, "test": 1}
IDLE_S = 600.0
POLL_S = 5.0
REST_S = 10.0
_TICKS = os.sysconf("SC_CLK_TCK")


async def daemon_figures(n: int, say: Say) -> dict[str, Result]:
    """`daemon.*`: idle over ten minutes (`--n` under 9: so many minutes), and `n` reactions each way."""
    with tempfile.TemporaryDirectory() as name:
        return await asyncio.to_thread(_measure, Path(name), n, say)


def _measure(folder: Path, n: int, say: Say) -> dict[str, Result]:
    project = demo_project(folder / "project", keep=KEEP, chat=True)
    saved, pushed, worked = _by_events(project, n, say)
    polled = _by_poll(demo_project(folder / "polled", keep=KEEP, chat=True), n, say)
    idle_s = IDLE_S if n >= 9 else 60.0 * n
    cpu, rss = _idle(project, idle_s, say)
    return {
        "daemon.reaction_s": _spread(saved + pushed, "to the first attempt, by events, both ways"),
        "daemon.reaction_task_file_s": _spread(saved, "from a saved task file"),
        "daemon.reaction_push_s": _spread(pushed, "from the begin of a git push"),
        "daemon.reaction_poll_s": _spread(polled, f"without events, poll_s = {POLL_S:g}"),
        "daemon.idle_cpu": Result(cpu, "%", 1, f"of a core, over {idle_s:g} s, with its git processes"),
        "daemon.idle_rss_mb": Result(rss, "MB", 1, f"largest in {idle_s:g} s after a start"),
        "daemon.worked_rss_mb": Result(worked, "MB", 1, f"at rest after {2 * n} runs, largest in {REST_S:g} s"),
    }


def _spread(values: list[float], what: str) -> Result:
    return Result(median(values), "s", len(values), f"{min(values):.3f}-{max(values):.3f}, {what}")


def _by_events(project: Path, n: int, say: Say) -> tuple[list[float], list[float], float]:
    """Seconds from a saved task file, from a push, and the memory after all that work."""
    git(project, "config", "receive.denyCurrentBranch", "updateInstead")
    clone = project.parent / "clone"
    git(project.parent, "clone", "--quiet", str(project), str(clone))
    saved: list[float] = []
    pushed: list[float] = []
    with daemon(project, through=()) as one:
        _settled(one)
        for turn in range(n):
            saved.append(_reaction(one, lambda turn=turn: _save_task(project, turn)))  # type: ignore[misc]
            git(project, "commit", "--quiet", "--all", "--message", f"Ask {turn}")  # a push wants a clean work tree
            _edit(clone, turn)
            pushed.append(_reaction(one, lambda: git(clone, "push", "--quiet", "origin", "main")))
            say(f"reaction {turn + 1}: task file {saved[-1]:.3f} s, push {pushed[-1]:.3f} s")
        worked = _resting(one)
        one.end()
    return saved, pushed, worked


def _by_poll(project: Path, n: int, say: Say) -> list[float]:
    """Events wait for a minute of quiet, so that the poll is always first."""
    with (project / "honed.toml").open("a") as toml:
        toml.write(f"\n[daemon]\ndebounce_s = 60.0\npoll_s = {POLL_S}\n")
    polled: list[float] = []
    with daemon(project, through=()) as one:
        _settled(one)
        for turn in range(n):
            time.sleep(POLL_S * turn / n)  # at another moment between two polls each time
            polled.append(_reaction(one, lambda turn=turn: _save_task(project, turn)))  # type: ignore[misc]
        one.end()
    say(f"by poll alone: {min(polled):.3f}-{max(polled):.3f} s")
    return polled


def _reaction(one: Daemon, act: Callable[[], object]) -> float:
    """Seconds from the begin of an act to the first attempt that it caused; waits for all work to end."""
    before, known = _newest(one.folder), len(one.jobs())
    began = time.time()
    act()
    one.until(lambda: _newest(one.folder) > before, "an attempt begins")
    with closing(sqlite3.connect(one.folder / ".honed" / "journal.sqlite", timeout=10)) as journal:
        query = "SELECT min(planned_at) FROM attempts WHERE seq > ?"
        first: float = journal.execute(query, (before,)).fetchone()[0]
    one.until(lambda: len(one.jobs()) > known, "a job")
    _settled(one)
    return first - began


def _newest(project: Path) -> int:
    with closing(sqlite3.connect(project / ".honed" / "journal.sqlite", timeout=10)) as journal:
        number: int = journal.execute("SELECT coalesce(max(seq), 0) FROM attempts").fetchone()[0]
    return number


def _settled(one: Daemon) -> None:
    """Nothing runs, and what waits, waits for long."""
    one.until(lambda: bool(one.jobs()) and _at_rest(one), "it settles")


def _at_rest(one: Daemon) -> bool:
    status = one.project()
    return status.progress is None and status.state in ("idle", "cooling", "nothing-to-learn")


def _save_task(project: Path, turn: int) -> None:
    """One selection task with other words, as an editor saves it."""
    tasks = project / "tasks" / "tasks.jsonl"
    rows = tasks.read_text().splitlines()
    place = next(number for number, row in enumerate(rows) if '"split": "selection"' in row)
    head, _, rest = rows[place].partition('"prompt": "')
    rows[place] = f'{head}"prompt": "({turn}) {rest.split(") ", 1)[-1]}'
    fresh = tasks.with_name("fresh")
    fresh.write_text("\n".join(rows) + "\n")
    fresh.rename(tasks)


def _edit(clone: Path, turn: int) -> None:
    git(clone, "pull", "--quiet", "--rebase", "origin", "main")
    file = clone / "skills" / "text" / "SKILL.md"
    file.write_text(file.read_text() + f"\n- Thought {turn}.\n")
    git(clone, "commit", "--quiet", "--all", "--message", f"Think of {turn}")


def _idle(project: Path, seconds: float, say: Say) -> tuple[float, float]:
    """Percent of a core and the most memory of a daemon that has started and finds nothing to do."""
    with daemon(project, through=()) as one:
        _settled(one)
        time.sleep(3.0)
        jobs, looks, before = len(one.jobs()), one.status().looks, _cpu_s(one)
        began, rss = time.monotonic(), _rss_mb(one)
        while (left := seconds - (time.monotonic() - began)) > 0:
            time.sleep(min(10.0, left))
            rss = max(rss, _rss_mb(one))
        percent = 100 * (_cpu_s(one) - before) / (time.monotonic() - began)
        if len(one.jobs()) != jobs:
            raise BenchError("something was queued though nothing happened")
        say(f"idle: {percent:.3f} % of a core, {rss:.1f} MB, {one.status().looks - looks} looks")
        one.end()
    return percent, rss


def _resting(one: Daemon) -> float:
    """The most memory of a daemon whose work has ended."""
    rss, limit = 0.0, time.monotonic() + REST_S
    while time.monotonic() < limit:
        time.sleep(1.0)
        rss = max(rss, _rss_mb(one))
    return rss


def _cpu_s(one: Daemon) -> float:
    """Of the process, and of its children that have ended."""
    stat = Path(f"/proc/{one.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, stat[11:15])) / _TICKS


def _rss_mb(one: Daemon) -> float:
    rows = dict(line.split(":", 1) for line in Path(f"/proc/{one.process.pid}/status").read_text().splitlines())
    return int(rows["VmRSS"].split()[0]) / 1024
