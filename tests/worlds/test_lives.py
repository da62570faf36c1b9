"""Real processes, a real journal file, real git, real `kill -9`: the same commits, and nothing finished paid twice."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
MODES = ("default", "forced", "suggestions", "accumulation", "attribution")


def lived(folder: Path, mode: str, plan: str) -> tuple[int, dict[str, Any]]:
    """How many lives were ended, and the story."""
    folder.mkdir()
    command = [sys.executable, "-m", "tests.worlds.lives", str(folder), mode, plan]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return int(done.stdout), json.loads((folder / "story.json").read_text())


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(folder / "journal.sqlite") as db:
        return db.execute(sql).fetchall()


@pytest.mark.parametrize("mode", MODES)
def test_killed_at_every_phase_boundary(shm: Path, mode: str) -> None:
    none, calm = lived(shm / "calm", mode, "calm")
    assert none == 0
    assert calm["state"] == "done"
    killed, told = lived(shm / "killed", mode, "boundaries")
    assert killed >= 12
    assert told == calm
    nothing_paid_twice(shm)


@pytest.mark.parametrize("mode", MODES[:1])
def test_killed_at_random(shm: Path, mode: str) -> None:
    _, calm = lived(shm / "calm", mode, "calm")
    _, told = lived(shm / "killed", mode, f"random:{mode}")
    assert told == calm
    nothing_paid_twice(shm)


def nothing_paid_twice(folder: Path) -> None:
    twice = "SELECT key FROM attempts WHERE score IS NOT NULL GROUP BY key HAVING count(*) > 1"
    assert rows(folder / "killed", twice) == []
    scored = "SELECT count(*) FROM attempts WHERE score IS NOT NULL"
    assert rows(folder / "killed", scored) == rows(folder / "calm", scored)
