"""The compact trace summary that the optimizer reads: the same shape for every harness, bounded by characters.

Invariants: every error is kept; of the rest both ends are kept; no control or invisible character gets through; each
line of untrusted text is indented, so that it cannot pose as a heading of the summary.
"""

from __future__ import annotations

from dataclasses import dataclass

from harnesses.traces.text import neutral, one_line, shorten
from harnesses.traces.trace import Event, Failure, FileChange, Message, ToolCall, Trace

SUMMARY_CHARS = 4_000
_FILE_NAMES = {
    "chat": "chat_trace_summary.txt",
    "codex": "codex_trace_summary.txt",
    "claude-code": "claude_trace_summary.txt",
}
_GRADES: tuple[tuple[int, int, int], ...] = ((600, 800, 600), (300, 400, 400), (200, 160, 240), (120, 80, 160))
"""Bounds for (input, output, message), each grade tighter than the one before."""

_LEAST = 80
"""Characters an error keeps at least, when there are very many."""


@dataclass(frozen=True)
class _Row:
    text: str
    error: bool


def file_name(harness: str) -> str:
    """The summary's file: `codex_trace_summary.txt` and the like."""
    return _FILE_NAMES.get(harness, "trace_summary.txt")


def summarize(trace: Trace, *, outcome: str = "", limit: int = SUMMARY_CHARS) -> str:
    """The summary of a trace in about `limit` characters (errors are shortened, never left out)."""
    head = _head(trace, outcome)
    answer = _answer(trace, limit)
    room = max(200, limit - len(head) - len(answer))
    body = ""
    for bounds in _GRADES:
        rows = [_row(number, event, bounds) for number, event in enumerate(trace.events, 1)]
        body = "\n".join(row.text for row in rows)
        if len(body) <= room:
            break
    else:
        body = _both_ends(rows, room)
    return f"{head}\n{body or '  (nothing)'}\n{answer}"


def _head(trace: Trace, outcome: str) -> str:
    calls = [event for event in trace.events if isinstance(event, ToolCall)]
    failed = sum(call.ok is False for call in calls)
    listed = {True: "yes", False: "no", None: "unknown"}[trace.skill_listed]
    lines = [f"outcome: {one_line(outcome, 600)}"] if outcome else []
    lines += [
        f"skill listed: {listed}; skill opened: {'yes' if trace.skill_opened else 'no'}",
        f"model turns: {trace.turns}; tool calls: {len(calls)} ({failed} failed)",
        f"ended: {one_line(trace.stop_reason, 60) or 'no end marker'}",
        "what happened, in order:",
    ]
    return "\n".join(lines)


def _answer(trace: Trace, limit: int) -> str:
    text = shorten(neutral(trace.final_answer).strip(), max(200, limit // 4))
    return "final answer:\n" + (_indent(text) if text else "  (none)") + "\n"


def _row(number: int, event: Event, bounds: tuple[int, int, int]) -> _Row:
    given, output, message = bounds
    match event:
        case Message(text, role):
            said = "reasoning" if role == "reasoning" else "said"
            return _Row(f"{number}. {said}:\n{_indent(_short(text, message))}", error=False)
        case ToolCall():
            return _call(number, event, given, output)
        case FileChange(path, kind):
            return _Row(f"{number}. file {kind}: {one_line(path, 200)}", error=False)
        case Failure(text, fatal):
            name = "FATAL ERROR" if fatal else "ERROR"
            return _Row(f"{number}. {name}:\n{_indent(_short(text, max(output, message)))}", error=True)


def _call(number: int, call: ToolCall, given: int, output: int) -> _Row:
    status = {True: "ok", False: "FAILED", None: "no result"}[call.ok]
    if call.exit_code:
        status += f", exit code {call.exit_code}"
    lines = [f"{number}. tool {one_line(call.tool, 60)} [{status}]:", _indent(_short(call.input, given))]
    if call.output.strip():
        shown = _short(call.output.strip(), output * 2 if call.ok is False else output)
        lines.append(_indent(shown, "  > "))
    return _Row("\n".join(lines), error=call.ok is False)


def _short(text: str, limit: int) -> str:
    return shorten(neutral(text), limit)


def _indent(text: str, margin: str = "  ") -> str:
    return "\n".join(margin + line for line in text.split("\n"))


def _both_ends(rows: list[_Row], room: int) -> str:
    """Whole rows from both ends until the room is used; errors in between are kept beyond it, each shortened."""
    errors = [index for index, row in enumerate(rows) if row.error]
    each = max(_LEAST, min(600, room // max(1, len(errors))))
    fitting = max(2, room // _LEAST)
    if len(errors) > fitting:
        errors = errors[: fitting // 2] + errors[-(fitting - fitting // 2) :]
    kept = {index: shorten(rows[index].text, each) for index in errors}
    used = sum(len(text) for text in kept.values())
    for index in _outside_in(len(rows)):
        if index in kept or rows[index].error:
            continue
        if used + len(rows[index].text) > room:
            break
        kept[index] = rows[index].text
        used += len(rows[index].text) + 1
    return "\n".join(_with_gaps(kept, len(rows)))


def _outside_in(count: int) -> list[int]:
    """0, last, 1, last but one, …, each once."""
    pairs = ((offset, count - 1 - offset) for offset in range((count + 1) // 2))
    return list(dict.fromkeys(index for pair in pairs for index in pair))


def _with_gaps(kept: dict[int, str], total: int) -> list[str]:
    lines: list[str] = []
    before = -1
    for index in [*sorted(kept), total]:
        if (gap := index - before - 1) > 0:
            lines.append(f"  (… {gap} left out …)")
        if index < total:
            lines.append(kept[index])
        before = index
    return lines
