"""The `honed` command from the outside: a process, its exit code, its last JSON line, its errors."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.forked import Forked

HONED = Path(sys.executable).with_name("honed")
LIMIT_S = 240
"""Guards against hanging only; nothing is judged by time."""


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    code: int
    stdout: str
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        """The last line of stdout as JSON."""
        data: dict[str, Any] = json.loads(self.stdout.splitlines()[-1])
        return data

    @property
    def error(self) -> str:
        """The one line that says what went wrong, out of `honed: …`."""
        lines = [line for line in self.stderr.splitlines() if line.startswith("honed: ")]
        assert len(lines) == 1, self.stderr
        return lines[0].removeprefix("honed: ")


def environment(**extra: str) -> dict[str, str]:
    """This process's environment without provider keys, plus `extra`."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return {**kept, **extra}


def honed(
    *arguments: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    program: Path | None = None,
    limit_s: int = LIMIT_S,
) -> Ran:
    """Run `honed …` in a folder: forked, as that is quick, or a program (`HONED`) started as people do."""
    command: list[str | Path] = [program or HONED, *map(str, arguments)]
    variables = environment() if env is None else dict(env)
    if program is None:
        return _forked(command, cwd, variables, limit_s)
    done = subprocess.run(
        command,
        cwd=cwd,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def _forked(command: list[str | Path], cwd: Path, env: Mapping[str, str], limit_s: int) -> Ran:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = Forked(command, cwd=cwd, env=env, stdout=out, stderr=err)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            raise
        for file in (out, err):
            file.seek(0)
        return Ran(code, out.read().decode(), err.read().decode())


def git(folder: Path, *arguments: str) -> str:
    """Git in a folder, with an identity and a date of its own, so that equal work gives equal commits."""
    when = {f"GIT_{who}_DATE": "2026-01-02T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
    identity = ("-c", "user.name=tester", "-c", "user.email=tester@honed.invalid", "-c", "commit.gpgSign=false")
    command = ["git", *identity, *arguments]
    done = subprocess.run(command, cwd=folder, env={**os.environ, **when}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def edits(folder: Path, branch: str) -> list[tuple[str, str]]:
    """Tree and message of every commit of a branch, oldest first: what must not depend on when or how often."""
    commits = git(folder, "rev-list", "--reverse", branch).splitlines()
    return [(git(folder, "rev-parse", f"{c}^{{tree}}"), git(folder, "show", "-s", "--format=%B", c)) for c in commits]


def journal_rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    """Read the journal of a project."""
    with closing(sqlite3.connect(folder / ".honed" / "journal.sqlite", timeout=10)) as database:
        return list(database.execute(query))


def scored_count(folder: Path) -> int:
    """How many attempts are scored by now; 0 where the journal is not there yet."""
    if not (folder / ".honed" / "journal.sqlite").exists():
        return 0
    if journal_rows(folder, "SELECT 1 FROM sqlite_master WHERE name = 'attempts'") == []:
        return 0
    count: int = journal_rows(folder, "SELECT count(score) FROM attempts")[0][0]
    return count
