"""Recorded streams of the real CLIs under `tests/golden/traces`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harnesses.traces.claude_events import parse_claude
from harnesses.traces.codex_events import parse_codex
from harnesses.traces.lines import split_lines
from harnesses.traces.skill_probe import SkillProbe
from harnesses.traces.trace import Trace

ROOT = Path(__file__).parent.parent / "golden" / "traces"
CODEX = ROOT / "codex-0.171.0"
CLAUDE = ROOT / "claude-2.1.332"
PROBE = SkillProbe("answer-writer")


@dataclass(frozen=True)
class Case:
    """One recorded run."""

    name: str
    stdout: bytes
    stderr: str
    exit_code: int
    out: dict[str, bytes]
    """What the CLI left in its own folder, by relative path."""


def case(folder: Path, name: str) -> Case:
    """Read one."""
    place = folder / name
    stderr = place / "stderr.txt"
    out = place / "out"
    return Case(
        name,
        (place / "stdout.jsonl").read_bytes(),
        stderr.read_text() if stderr.exists() else "",
        int((place / "exit_code").read_text()),
        {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()},
    )


def names(folder: Path) -> list[str]:
    """All cases of one CLI version."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir())


def codex(name: str, probe: SkillProbe | None = PROBE) -> Trace:
    """A Codex case, parsed."""
    return parse_codex(split_lines([case(CODEX, name).stdout]), probe)


def claude(name: str, probe: SkillProbe | None = PROBE) -> Trace:
    """A Claude Code case, parsed."""
    return parse_claude(split_lines([case(CLAUDE, name).stdout]), probe)
