"""Parsers of what the agents' CLIs print and write: nothing may come out but a trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from harnesses.traces.claude_events import parse_claude
from harnesses.traces.claude_session import read_session
from harnesses.traces.codex_events import parse_codex
from harnesses.traces.codex_rollout import root_facts
from harnesses.traces.lines import parse_object, split_lines
from harnesses.traces.session_stream import SessionStream
from harnesses.traces.skill_probe import SkillProbe
from harnesses.traces.summary import condensed, summarize
from harnesses.traces.trace import Trace
from tests.fuzz.target import Target, target
from tests.support.golden import CLAUDE, CODEX

SESSIONS = Path(__file__).parents[2] / "golden" / "sessions"
PROBE = SkillProbe(
    "answer-writer", "---\nname: answer-writer\ndescription: Use.\n---\n\n# Answer writer\nCount them.\n"
)
LIMIT = 6_000
_LARGEST = 24 * 1024


def _streams(folder: Path) -> Callable[[], Sequence[bytes]]:
    def seeds() -> Sequence[bytes]:
        return [path.read_bytes()[:_LARGEST] for path in sorted(folder.glob("*/stdout.jsonl"))]

    return seeds


def _sessions(kind: str) -> Callable[[], Sequence[bytes]]:
    def seeds() -> Sequence[bytes]:
        found = [*sorted(SESSIONS.glob(f"{kind}*.jsonl"))]
        found += sorted((CODEX if kind == "codex" else CLAUDE).glob("*/out/**/*.jsonl"))
        return [path.read_bytes()[:_LARGEST] for path in found]

    return seeds


def _told(trace: Trace) -> None:
    """A trace becomes a summary that is bounded, printable and can be stored."""
    summary = summarize(trace, outcome="completed", harness="x", skill=PROBE.text, files=None, limit=LIMIT)
    assert len(summary) <= LIMIT + 200, len(summary)
    summary.encode()
    condensed(summary, 500, skill=PROBE.text).encode()
    trace.final_answer.encode()
    assert trace.usage.tokens >= 0
    for word in (trace.session_id, trace.model, trace.stop_reason):
        word.encode()


def _codex(data: bytes) -> None:
    _told(parse_codex(split_lines([data]), PROBE))


def _claude(data: bytes) -> None:
    _told(parse_claude(split_lines([data]), PROBE))


def _stream(data: bytes) -> None:
    stream = SessionStream()
    for line in split_lines([data]):
        entry = parse_object(line)
        turn = stream.entry(entry) if entry is not None else None
        if turn is not None:
            turn.prompt.encode()
    stream.end()


def _codex_session(data: bytes) -> None:
    root_facts({"codex/sessions/2026/rollout-x.jsonl": data}, PROBE)
    _stream(data)


def _claude_session(data: bytes) -> None:
    read_session(data, PROBE)
    _stream(data)


target(Target("codex-events", "Codex's stdout to a trace and its summary", _streams(CODEX), _codex))
target(Target("claude-events", "Claude Code's stdout to a trace and its summary", _streams(CLAUDE), _claude))
target(Target("codex-session", "Codex's session file", _sessions("codex"), _codex_session))
target(Target("claude-session", "Claude Code's session file", _sessions("claude"), _claude_session))
