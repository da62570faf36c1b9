"""Who wrote a line: `git blame` on a commit, without the configuration that would hide commits or run programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from skills_repo.git import Git, GitFailedError
from skills_repo.history import BlamedLine, RepositoryError
from skills_repo.log import read_commits

_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")
_OPTIONS = ("--line-porcelain", "--no-textconv", "--no-progress", "--ignore-revs-file=")


@dataclass(frozen=True)
class _Row:
    sha: str
    then: int
    now: int
    boundary: bool


def blame(git: Git, commit: str, skill_path: str, path: str, lines: Sequence[int]) -> tuple[BlamedLine, ...]:
    """See `SkillHistory.blame`; `commit` is a checked id."""
    if not lines:
        return ()
    ranges = [part for number in sorted(set(lines)) for part in ("-L", f"{int(number)},{int(number)}")]
    try:
        out = git.run("blame", *_OPTIONS, *ranges, commit, "--", f"{skill_path}/{path}")
    except GitFailedError as error:
        if "object name list" in error.stderr:
            hint = "`git config --get-all blame.ignoreRevsFile` names a file that cannot be read: mend or unset it"
            raise RepositoryError(f"git blame cannot run in {git.folder}: {error.stderr} ({hint})") from error
        raise RepositoryError(f"{skill_path}/{path} at {commit[:12]}: {error.stderr} (see `honed diff`)") from error
    rows = {row.now: row for row in _rows(out)}
    commits = read_commits(git, sorted({row.sha for row in rows.values()}))
    shallow = git.line("rev-parse", "--is-shallow-repository") == "true"
    return tuple(
        BlamedLine(number, commits[rows[number].sha], rows[number].then, cut=shallow and rows[number].boundary)
        for number in lines
    )


def _rows(out: bytes) -> list[_Row]:
    """One row a line of the porcelain, which ends each with the line itself, behind a tab."""
    rows: list[_Row] = []
    header, boundary = None, False
    for line in out.split(b"\n"):
        if line.startswith(b"\t"):
            if header is not None:
                rows.append(_Row(header[1].decode(), int(header[2]), int(header[3]), boundary))
            header, boundary = None, False
        elif header is None:
            header = _HEADER.fullmatch(line)
        else:
            boundary = boundary or line == b"boundary"
    return rows
