"""Accepted steps that are not in git: each must have been overtaken by a person, and it must be seen by what.

A step is overtaken where its run was given up for a later one, because a person's commit came between their bases, or
because the later one has another configuration. Everything else is a lost step.
"""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

Key = tuple[str, int, str]
"""Run, step, phase."""


@dataclass(frozen=True)
class _Run:
    run_id: str
    state: str
    fingerprint: str
    base: str


def not_overtaken(folder: Path, missing: Iterable[Key]) -> list[str]:
    """What is wrong with steps that a gate accepted and that git does not have."""
    wanted = sorted(missing)
    with closing(sqlite3.connect(folder / ".honed" / "journal.sqlite", timeout=30)) as journal:
        runs = [
            _Run(*row)
            for row in journal.execute("SELECT run_id, state, fingerprint, base_commit FROM runs ORDER BY seq")
        ]
        later = {key: journal.execute(_LATER, key[:2]).fetchone()[0] for key in wanted}
    return [fault for key in wanted if (fault := _fault(folder, key, runs, went_on=later[key] > 0))]


_LATER = "SELECT count(*) FROM decisions WHERE run_id = ? AND step > ? AND kind IN ('step', 'slow_update')"


def _fault(folder: Path, key: Key, runs: list[_Run], *, went_on: bool) -> str:
    at = next(place for place, run in enumerate(runs) if run.run_id == key[0])
    run, after = runs[at], runs[at + 1 :]
    head = f"{key} was accepted and is not in git, "
    if run.state == "done":
        return f"{head}though its run came to its end"
    if went_on:
        return f"{head}though its run went on to further steps"
    if not after:
        return f"{head}and no run took its place"
    if run.state == "open" and all(one.fingerprint == run.fingerprint for one in after):
        return f"{head}and its run is open, though nobody changed the configuration"
    if run.state != "open" and not any(_moved_on(folder, run.base, one.base) for one in after):
        return f"{head}and nobody committed anything between its run and the next ones"
    return ""


def _moved_on(folder: Path, old: str, new: str) -> bool:
    """A person came between: a commit without honed's trailers, or a history without the old base."""
    ancestor = ["git", "merge-base", "--is-ancestor", old, new]
    if subprocess.run(ancestor, cwd=folder, capture_output=True, check=False).returncode != 0:
        return True
    command = ["git", "log", "--format=%(trailers:key=Honed-Run,valueonly)%x00", f"{old}..{new}"]
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout
    return any(not one.strip() for one in told.split("\0")[:-1])
