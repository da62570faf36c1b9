"""A skill's commits read back: edits with their trailers, reverts, and people's commits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from skills_repo.git import Git
from skills_repo.history import Author, SkillCommit
from skills_repo.message import body_of, parse_trailers, place_of

_FORMAT = "%H%x00%P%x00%an%x00%ae%x00%at%x00%B%x00"
_PLAIN = ("--no-show-signature", "--no-notes", f"--format=tformat:{_FORMAT}")
_COLUMNS = 6
_YEAR_9999 = 253_370_764_800.0
_REVERTS = re.compile(r"^This reverts commit ([0-9a-f]{40,64})", re.MULTILINE)
_REVERT_SENTENCE = re.compile(r"This reverts commit [0-9a-f]{40,64}[^.]*\.?")


def read_log(git: Git, head: str, skill_path: str, limit: int) -> tuple[SkillCommit, ...]:
    """The newest `limit` commits below `head` that changed the skill, newest first."""
    return _read(git, head, skill_path, f"--max-count={max(int(limit), 0)}")


def read_commits(git: Git, ids: Sequence[str]) -> dict[str, SkillCommit]:
    """These commits by id, whatever they changed."""
    if not ids:
        return {}
    fields = git.fields(["log", "--no-walk=unsorted", *_PLAIN, "--stdin"], "".join(f"{one}\n" for one in ids).encode())
    return {commit.sha: commit for commit in _commits(fields)}


def find_step(git: Git, head: str, skill_path: str, place: tuple[str, int, str]) -> tuple[str, ...]:
    """Ids of the commits whose trailers name this run, step and phase, oldest first."""
    found = _read(git, head, skill_path, *holding(place[0]))
    return tuple(commit.sha for commit in reversed(found) if place_of(commit.trailers) == place)


def holding(text: str) -> tuple[str, str]:
    """Options of `git log` for messages that hold the text.

    A regular expression on purpose: a plain text is searched by PCRE2, which makes machine code of it, and git before
    2.40 dies where the supervisor forbids that (systemd's MemoryDenyWriteExecute=).
    """
    plain = re.sub(r"[\\.*^$\[\]]", r"\\\g<0>", text)
    return "--basic-regexp", rf"--grep=\({plain}\)"


def _read(git: Git, head: str, skill_path: str, *options: str) -> tuple[SkillCommit, ...]:
    return _commits(git.fields(["log", "--topo-order", "--full-history", *options, *_PLAIN, head, "--", skill_path]))


def _commits(fields: list[str]) -> tuple[SkillCommit, ...]:
    rows = zip(*[iter(fields)] * _COLUMNS, strict=True)
    return tuple(describe(row[0].lstrip("\n"), row[1], Author(row[2], row[3]), _when(row[4]), row[5]) for row in rows)


def _when(text: str) -> float:
    """Seconds since 1970; 0 where whoever made the commit wrote no date, or one beyond any calendar."""
    return float(text) if text.isascii() and text.isdigit() and float(text) < _YEAR_9999 else 0.0


def describe(sha: str, parents: str, author: Author, when: float, message: str) -> SkillCommit:
    """One commit as data; `parents` are ids with blanks between."""
    trailers = parse_trailers(message)
    found = _REVERTS.search(message)
    kind: Literal["edit", "revert", "human"] = "revert" if found else "edit" if "Honed-Run" in trailers else "human"
    subject, _, body = message.partition("\n")
    return SkillCommit(
        sha=sha,
        parents=tuple(parents.split()),
        author=f"{author.name} <{author.email}>",
        when=when,
        subject=subject.strip(),
        trailers={} if found else trailers,
        kind=kind,
        reverts=found.group(1) if found else None,
        reason=" ".join(_REVERT_SENTENCE.sub("", body).split()) if found else "",
        body=body_of(message),
    )
