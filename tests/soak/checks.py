"""What must hold once a soak has settled, whatever happened in it. Each fault found is one line of evidence.

Counted is what stands on disk, with git and SQLite themselves: nothing here asks honed what it believes.
"""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.soak.house import House, Soaked
from tests.soak.overtaken import not_overtaken
from tests.support.honed_cli import git

Key = tuple[str, int, str]
"""Run, step, phase."""
_STEP = re.compile(r"(\d+)\.(\d+)/(\d+)")


@dataclass(frozen=True)
class Tally:
    """What was counted over all projects."""

    attempts: int = 0
    runs: int = 0
    accepted: int = 0
    """Steps and slow updates that a gate accepted and that are in git, each once."""
    overtaken: int = 0
    """Accepted, but a person had moved the skill or the configuration on before the commit (`overtaken.py`)."""
    commits: int = 0
    again: int = 0
    """Commits made again on a person's version."""

    def plus(self, other: Tally) -> Tally:
        """Both."""
        return Tally(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))


def attempts(house: House) -> int:
    """Attempts that have ended so far, in all journals."""
    return sum(
        _rows(one.folder, "SELECT count(*) FROM attempts WHERE state = 'finished'")[0][0] for one in _begun(house)
    )


def check(house: House) -> tuple[Tally, list[str]]:
    """All projects: the tally, and what does not hold."""
    tally, faults = Tally(), []
    for one in house.projects:
        if one not in _begun(house):
            faults.append(f"{one.name}: it has no journal")
            continue
        counted, found = check_project(one.folder)
        tally = tally.plus(counted)
        faults += [f"{one.name}: {fault}" for fault in found]
    return tally, [*faults, *_jobs(house)]


def _begun(house: House) -> list[Soaked]:
    return [one for one in house.projects if (one.folder / ".honed" / "journal.sqlite").exists() and _has_tables(one)]


def _has_tables(one: Soaked) -> bool:
    return bool(_rows(one.folder, "SELECT 1 FROM sqlite_master WHERE name = 'attempts'"))


def check_project(folder: Path) -> tuple[Tally, list[str]]:
    """One project: the tally, and what does not hold."""
    accepted, states, noted = _decided(folder)
    found = list(_commits(folder))
    originals = [commit for commit in found if not commit.again and not commit.turned_down]
    faults = [*_twice(originals), *_journal(folder), *_left(folder)]
    in_git = {commit.key for commit in originals if commit.key[2] != "initial"}
    faults += [f"{key} is in git, but no decision accepted it" for key in sorted(in_git - accepted)]
    missing = accepted - in_git
    faults += not_overtaken(folder, missing)
    by_sha = {commit.sha: commit for commit in found}
    for key, shas in noted.items():
        wrong = [sha for sha in shas if sha not in by_sha or by_sha[sha].key != key]
        faults += [f"the journal names {sha} for {key}, git does not" for sha in wrong]
    faults += [f"{key} is in git, and the journal does not name its commits" for key in sorted(in_git - set(noted))]
    count = _rows(folder, "SELECT count(*) FROM attempts WHERE state = 'finished'")[0][0]
    again = sum(commit.again for commit in found)
    return Tally(count, len(states), len(in_git), len(missing), len(originals), again), faults


@dataclass(frozen=True)
class _Commit:
    sha: str
    key: Key
    position: int
    of: int
    again: bool
    turned_down: bool


def _commits(folder: Path) -> Iterator[_Commit]:
    """Every commit with honed's trailers that any ref holds."""
    text = git(folder, "log", "--all", "--format=%H%x00%(trailers:only,unfold)%x01")
    for row in text.split("\x01"):
        sha, _, body = row.strip().partition("\0")
        trailers = dict(line.split(": ", 1) for line in body.splitlines() if ": " in line)
        step = _STEP.fullmatch(trailers.get("Honed-Step", ""))
        if step is None or "Honed-Run" not in trailers:
            continue
        yield _Commit(
            sha,
            (trailers["Honed-Run"], int(step[1]), trailers.get("Honed-Phase", "step")),
            int(step[2]),
            int(step[3]),
            "Honed-Rebased-From" in trailers,
            trailers.get("Honed-Gate", "").startswith("rejected"),
        )


def _twice(commits: list[_Commit]) -> Iterator[str]:
    counts = Counter((commit.key, commit.position) for commit in commits)
    yield from (f"{key} position {place} is in git {n} times" for (key, place), n in counts.items() if n != 1)
    for key in {commit.key for commit in commits}:
        mine = [commit for commit in commits if commit.key == key]
        if {commit.position for commit in mine} != set(range(1, mine[0].of + 1)):
            yield f"{key} is in git in part: {len(mine)} of {mine[0].of} edits"


def _decided(folder: Path) -> tuple[set[Key], dict[str, str], dict[Key, list[str]]]:
    """Accepted decisions, the state of each run, and the commits that the journal names."""
    states: dict[str, str] = dict(_rows(folder, "SELECT run_id, state FROM runs"))
    accepted: set[Key] = set()
    noted: dict[Key, list[str]] = {}
    for run, step, kind, payload in _rows(folder, "SELECT run_id, step, kind, payload FROM decisions ORDER BY seq"):
        data: dict[str, Any] = json.loads(payload)
        if kind in ("step", "slow_update") and data["outcome"] == "accepted":
            accepted.add((run, step, kind))
        if kind in ("commits", "slow_update_commits"):
            noted[run, step, "step" if kind == "commits" else "slow_update"] = data["commits"]
    return accepted, states, noted


def _journal(folder: Path) -> Iterator[str]:
    twice = "SELECT key, count(*) FROM attempts WHERE score IS NOT NULL GROUP BY key HAVING count(*) > 1"
    yield from (f"attempt {key} is scored {n} times" for key, n in _rows(folder, twice))
    planned = "SELECT attempt_id FROM attempts WHERE state = 'planned'"
    yield from (f"attempt {row[0]} is still planned" for row in _rows(folder, planned))
    ruined = _rows(folder, "PRAGMA integrity_check")
    if ruined != [("ok",)]:
        yield f"the journal is broken: {ruined}"


def _left(folder: Path) -> Iterator[str]:
    """What must be gone from the repository and the state folder."""
    state, repository = folder / ".honed", folder / ".git"
    for name in ("scratch", "doors"):
        yield from (f"left: {path.relative_to(folder)}" for path in (state / name).glob("*"))
    yield from (f"left: {path.relative_to(folder)}" for path in repository.rglob("*.lock"))
    yield from (f"left: {path.relative_to(folder)}" for path in repository.rglob("tmp_obj_*"))
    if len(git(folder, "worktree", "list").splitlines()) != 1:
        yield f"work trees are left: {git(folder, 'worktree', 'list')}"
    if changed := git(folder, "status", "--porcelain"):
        yield f"the work tree is not clean: {changed}"
    done = subprocess.run(["git", "fsck", "--no-dangling"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"git fsck: {done.stderr[-300:]}"


def _jobs(house: House) -> Iterator[str]:
    with closing(sqlite3.connect(house.main / ".honed" / "daemon.sqlite", timeout=10)) as store:
        query = "SELECT number, project, state, reason FROM jobs WHERE state IN ('queued', 'running')"
        yield from (f"job {row[0]} of {row[1]} is {row[2]}: {row[3]}" for row in store.execute(query))


def _rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / ".honed" / "journal.sqlite", timeout=30)) as journal:
        return list(journal.execute(query))
