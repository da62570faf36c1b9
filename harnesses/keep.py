"""What a harness keeps in the attempt's folder for people."""

from __future__ import annotations

import os
from pathlib import Path

import structlog

from harnesses.harness import RenderedSkill
from harnesses.traces.summary import file_name


def write_summary(folder: Path, harness: str, summary: str) -> None:
    """Keep the summary for honed's user alone; a disk that refuses costs the file, not the attempt."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(folder / file_name(harness), flags, 0o600), "w", encoding="utf-8") as file:
            file.write(summary)
    except OSError as error:
        structlog.get_logger().warning("summary_not_written", folder=str(folder), error=str(error))


def told_skill(skill: RenderedSkill | None) -> str:
    """SKILL.md for telling it from what an agent did; empty for no skill, and never an error."""
    return "" if skill is None else skill.files.get("SKILL.md", b"").decode("utf-8", "replace")


def tail(path: Path, size: int = 4_096) -> str:
    """The end of a file as text; empty if it cannot be read (it only explains, no verdict rests on it)."""
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - size))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
