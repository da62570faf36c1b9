"""kill -9 at random moments: what was told to the caller is in the file, and the file opens clean."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import tests
from daemon.journal.sqlite import SqliteJournal

ROOT = Path(tests.__file__).parent.parent


def _kill_a_writer(path: Path, lines_first: int, after_s: float) -> tuple[set[str], set[str]]:
    """Ids that a writer said it had planned and finished, so many lines at least, before it was killed."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-m", "tests.support.journal_writer", str(path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(lines_first)]
        time.sleep(after_s)
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
    assert child.returncode == -signal.SIGKILL
    told = [line.split() for line in lines if line.endswith("\n")]
    return {row[1] for row in told if row[0] == "planned"}, {row[1] for row in told if row[0] == "finished"}


async def test_every_row_told_of_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    draw = random.Random(7)
    planned: set[str] = set()
    finished: set[str] = set()
    for _ in range(4):
        more_planned, more_finished = _kill_a_writer(path, draw.randint(6, 30), draw.uniform(0.0, 0.02))
        planned |= more_planned
        finished |= more_finished
    assert len(finished) > 8
    reader = SqliteJournal(path, read_only=True)  # `honed log` before anybody has recovered the file
    assert len(await reader.find_runs()) == 4
    await reader.close()
    check = sqlite3.connect(path)
    assert check.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    check.close()
    journal = SqliteJournal(path)
    runs = await journal.find_runs()
    assert len(runs) == 4
    kept = {record.attempt_id for run in runs for record in await journal.attempts(run.run_id)}
    left = set(await journal.unfinished_attempts())
    assert finished <= kept
    assert planned <= kept | left
    assert len(left) <= 4  # one process has one attempt in flight here
    await journal.abandon_attempts(tuple(sorted(left)))
    assert await journal.unfinished_attempts() == ()
    await journal.close()
