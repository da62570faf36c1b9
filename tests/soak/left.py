"""What must be gone once the daemon after a killed one has come to its end, and what a kill leaves on the way there."""

from __future__ import annotations

import hashlib
import subprocess
import time
from pathlib import Path

from daemon.config import load_config
from daemon.wiring import owner_id
from sandboxes.cgroup import left_groups
from sandboxes.container import LABEL_OWNER
from tests.soak.keeper import marked
from tests.support.honed_cli import journal_rows

_GONE_S = 10.0


def boxes(project: Path, engine: str) -> list[str]:
    """Boxes that the engine still has of this project: containers, or control groups with what runs in them."""
    owner = owner_id(load_config(project / "honed.toml"))
    if engine == "docker":
        names = [
            "docker",
            "ps",
            "--all",
            "--filter",
            f"label={LABEL_OWNER}={owner}",
            "--format",
            "{{.Names}} {{.State}}",
        ]
        return subprocess.run(names, capture_output=True, text=True, check=True).stdout.splitlines()
    if engine == "bubblewrap":
        return sorted({path.name for path in left_groups(f"honed-{hashlib.sha256(owner.encode()).hexdigest()[:8]}-")})
    return []


def paid(project: Path) -> set[str]:
    """Attempts that had ended and wait for their score: to run their agent again would be to pay twice."""
    if not journal_there(project):
        return set()
    planned = journal_rows(project, "SELECT attempt_id FROM attempts WHERE state = 'planned'")
    return {str(one) for (one,) in planned if (project / ".honed" / "attempts" / str(one) / "receipt.json").exists()}


def journal_there(project: Path) -> bool:
    """There is a journal with tables."""
    there = (project / ".honed" / "journal.sqlite").exists()
    return there and bool(journal_rows(project, "SELECT 1 FROM sqlite_master WHERE name = 'attempts'"))


def paid_twice(project: Path, before: set[str]) -> list[str]:
    """Those of `before` that were made anew."""
    finished = {
        str(one) for (one,) in journal_rows(project, "SELECT attempt_id FROM attempts WHERE state = 'finished'")
    }
    return [f"attempt {one} had ended, and was paid for again" for one in sorted(before - finished)]


def left_behind(project: Path, temp: Path, engine: str) -> list[str]:
    """Boxes, processes and temporary files."""
    limit = time.monotonic() + _GONE_S
    while (found := marked(temp)) and time.monotonic() < limit:
        time.sleep(0.05)
    return [
        *(f"a process is left: {one}" for one in found),
        *(f"a box is left: {one}" for one in boxes(project, engine)),
        *(f"a temporary file is left: {path.name}" for path in temp.glob("*")),
    ]
