"""What a harness keeps in the attempt's folder for people."""

from __future__ import annotations

from pathlib import Path

import structlog

from harnesses.harness import RenderedSkill
from harnesses.traces.summary import file_name


def write_summary(folder: Path, harness: str, summary: str) -> None:
    """Keep the summary; a disk that refuses costs the file, not the attempt."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file_name(harness)).write_text(summary, encoding="utf-8")
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
