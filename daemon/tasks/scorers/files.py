"""`file_checks`: what must hold of the files that the agent left in its workspace.

`value` is the share of checks that hold, `hard` all of them. A missing file fails its checks; files are bytes, and only
checks on text need UTF-8.
"""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from daemon.tasks.formats.paths import inside_path
from daemon.tasks.scorers.patterns import all_matches
from daemon.tasks.scorers.regex import Pattern
from daemon.tasks.scorers.scorer import Context, Options, Result, Scorer, ScorerKind, left_out
from daemon.tasks.task import Score, Task

TOLD = 5
"""Failed checks named in a feedback."""
TEXT_BYTES = 1024 * 1024
"""Of a file that a pattern is matched against."""
_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|[^*?]+")


class FileCheck(Options):
    """One check."""

    path: str
    """In the workspace; `*`, `?` and `**` stand for names, and one file that fits is enough."""
    exists: bool = True
    """False: no such file may be there."""
    gold: str | None = None
    """The same bytes as this file of the task's `tests`."""
    ignore_space: bool = False
    """With `gold`: as text, where line ends, spaces at line ends and empty lines at the end do not count."""
    contains: tuple[str, ...] = Field(default=(), strict=False)
    """Texts that each occur."""
    lacks: tuple[str, ...] = Field(default=(), strict=False)
    """Texts of which none occurs."""
    matches: Pattern | None = None
    """A regular expression that is found."""
    max_bytes: int | None = Field(default=None, ge=0)

    @field_validator("path", "gold")
    @classmethod
    def _inside(cls, path: str | None) -> str | None:
        return None if path is None else inside_path(path)


class FileOptions(Options):
    """Options of `file_checks`."""

    checks: tuple[FileCheck, ...] = Field(min_length=1, strict=False)


class FileScorer:
    """Checks the collected files."""

    def __init__(self, options: FileOptions) -> None:
        self._options = options

    async def score(self, task: Task, result: Result) -> Score:
        """Score the workspace; raises `VerifierError` if a pattern does not come to an end."""
        told = []
        for number, check in enumerate(self._options.checks):
            why = await _outcome(check, task, result)
            if why:
                told.append((number, f"{check.path} {why}"))
        asked = len(self._options.checks)
        more = f" (and {len(told) - TOLD} more)" if len(told) > TOLD else ""
        return Score(
            value=(asked - len(told)) / asked,
            hard=not told,
            feedback="; ".join(why for _, why in told[:TOLD]) + more,
            detail={"checks": asked, "failed": [number for number, _ in told]},
        )


async def _outcome(check: FileCheck, task: Task, result: Result) -> str:
    """Empty if the check holds for some file, else in what way it does not for the first."""
    found = await _fitting(check.path, result)
    if not check.exists:
        return "is there though it must not be" if found else ""
    if not found:
        return "was left out: too large, or no plain file" if left_out(check.path, result) else "is missing"
    first = ""
    for path in found:
        why = await _wrong(check, task, result.workspace.files[path])
        if not why:
            return ""
        first = first or why
    return first


async def _fitting(path: str, result: Result) -> list[str]:
    if path in result.workspace.files:
        return [path]
    if not set("*?") & set(path):
        return []
    names = sorted(result.workspace.files)
    fit = await all_matches([(_GLOB.sub(_translated, path), name, True) for name in names], "checks.path")
    return [name for name, fits in zip(names, fit, strict=True) if fits]


def _translated(match: re.Match[str]) -> str:
    return {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(match[0]) or re.escape(match[0])


async def _wrong(check: FileCheck, task: Task, data: bytes) -> str:
    if check.max_bytes is not None and len(data) > check.max_bytes:
        return f"has more than {check.max_bytes} bytes"
    if check.gold is not None:
        gold = task.tests[check.gold].read_bytes()
        if not (_lines(gold) == _lines(data) if check.ignore_space else gold == data):
            return "has wrong content"
    if not (check.contains or check.lacks or check.matches is not None):
        return ""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "is not UTF-8"
    return _texts(check, text) or await _pattern(check, text)


def _texts(check: FileCheck, text: str) -> str:
    missing = sum(part not in text for part in check.contains)
    if missing:
        return f"lacks {missing} of {len(check.contains)} texts"
    if any(part in text for part in check.lacks):
        return "holds a text that it must not"
    return ""


async def _pattern(check: FileCheck, text: str) -> str:
    if check.matches is None:
        return ""
    if len(text) > TEXT_BYTES:
        return "is too large to be matched"
    [matched] = await all_matches([(check.matches, text, False)], "checks.matches")
    return "" if matched else "does not fit its pattern"


def _lines(data: bytes) -> list[bytes]:
    return [line.rstrip() for line in data.removeprefix(b"\xef\xbb\xbf").rstrip().splitlines()]


def _check(task: Task, options: FileOptions) -> None:
    for number, check in enumerate(options.checks):
        if check.gold is not None and check.gold not in task.tests:
            msg = f"tests: has no file {check.gold!r}, which scorer.checks.{number}.gold names"
            raise ValueError(msg)


def _build(options: FileOptions, context: Context) -> Scorer:
    return FileScorer(options)


FILE_CHECKS = ScorerKind("file_checks", 1, FileOptions, _check, _build)
