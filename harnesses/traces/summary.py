"""The compact trace summary that the optimizer reads: the same shape for every harness, bounded.

It is made when an attempt ends (`summarize`, bounded by characters, journaled) and made smaller, still as a summary,
when it is put before the optimizer beside others (`condensed`, bounded by tokens).
Invariants: every error is kept; of the rest both ends are kept; the skill's own text is not repeated; no control or
invisible character gets through; each line of untrusted text is indented, so that it cannot pose as a heading.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from harnesses.traces.builder import TEXT_CHARS
from harnesses.traces.parts import Summary, parsed
from harnesses.traces.rows import Row, clipped
from harnesses.traces.skill_text import without_skill
from harnesses.traces.text import neutral, one_line, shorten
from harnesses.traces.tokens import tokens
from harnesses.traces.trace import Event, Failure, FileChange, Message, ToolCall, Trace

SUMMARY_CHARS = 16_000
"""Of a summary as it is journaled: roomy, because it is cut to measure when it is read."""
_FILE_NAMES = {
    "chat": "chat_trace_summary.txt",
    "codex": "codex_trace_summary.txt",
    "claude-code": "claude_trace_summary.txt",
}
_FILES_SHOWN = 40
_TRIES = 8
_NOTE_CHARS = 45
"""That something was left out is a text, too."""


def file_name(harness: str) -> str:
    """The summary's file: `codex_trace_summary.txt` and the like."""
    return _FILE_NAMES.get(harness, "trace_summary.txt")


def summarize(
    trace: Trace,
    *,
    outcome: str = "",
    harness: str = "",
    skill: str = "",
    files: Sequence[FileChange] | None = None,
    limit: int = SUMMARY_CHARS,
) -> str:
    """The summary of a trace in about `limit` characters (errors are shortened, never left out while they fit).

    `skill` is SKILL.md, whole: copies of it are left out. `files` is what is different in the workspace afterwards,
    however it came about; None: nobody looked.
    """
    rows = _rows(trace, skill, side=max(50, limit // 40))
    answer = without_skill(neutral(trace.final_answer).strip(), skill)
    head = _head(trace, outcome, harness, files)
    return Summary(head, _told_once(rows), len(rows), answer).text(limit)


def condensed(summary: str, budget: int, *, skill: str = "") -> str:
    """A journaled summary in at most about `budget` tokens (estimated): whole rows, both ends, every error.

    Text that is no summary of ours is shortened as text.
    """
    known = parsed(summary)
    if known is None:
        plain = without_skill(neutral(summary), skill)
        return _hard(_fitted(plain, budget, lambda limit: clipped(plain, limit)), budget)
    if skill:
        rows = tuple(
            replace(r, given=without_skill(r.given, skill), output=without_skill(r.output, skill)) for r in known.rows
        )
        known = replace(known, rows=rows, answer=without_skill(known.answer, skill))
    found = _fitted(summary, budget, known.text)
    return found if tokens(found) <= budget else _hard(_fitted(summary, budget, known.brief().text), budget)


def final_answer_of(summary: str) -> str | None:
    """The final answer as a summary shows it (perhaps shortened, perhaps empty); None if it is no summary of ours."""
    known = parsed(summary)
    return None if known is None else known.answer


def _fitted(text: str, budget: int, made: Callable[[int], str]) -> str:
    """What `made` gives for the largest of a few limits in characters that keeps within the budget in tokens."""
    limit = len(text) + 400
    found = made(limit)
    for _ in range(_TRIES):
        if (cost := tokens(found)) <= budget:
            break
        limit = min(limit - 1, int(min(limit, len(found)) * max(0.2, 0.97 * budget / cost)))
        found = made(limit)
    return found


def _hard(text: str, budget: int) -> str:
    """The text, cut as text if it is still too long."""
    cost = tokens(text)
    return text if cost <= budget else clipped(text, max(20, len(text) * budget // cost - _NOTE_CHARS))


def _head(trace: Trace, outcome: str, harness: str, files: Sequence[FileChange] | None) -> str:
    calls = [event for event in trace.events if isinstance(event, ToolCall)]
    failed = sum(call.ok is False for call in calls)
    listed = {True: "yes", False: "no", None: "unknown"}[trace.skill_listed]
    lines = [f"outcome: {one_line(outcome, 600)}"] if outcome else []
    lines += [f"harness: {one_line(harness, 40)}"] if harness else []
    lines += [
        f"skill listed: {listed}; skill opened: {'yes' if trace.skill_opened else 'no'}",
        f"model turns: {trace.turns}; tool calls: {len(calls)} ({failed} failed)",
        f"ended: {one_line(trace.stop_reason, 60) or 'no end marker'}",
    ]
    if files is not None:
        told = [f"{change.kind} {one_line(change.path, 120)}" for change in files[:_FILES_SHOWN]]
        more = [f"{len(files) - _FILES_SHOWN} more"] if len(files) > _FILES_SHOWN else []
        lines.append(f"files changed in the end: {'; '.join([*told, *more]) or 'none'}")
    return "\n".join(lines)


def _last_message(trace: Trace) -> int:
    """The number of the message that is the final answer, which is shown on its own; 0 if there is none."""
    for number, event in reversed(list(enumerate(trace.events, start=1))):
        if isinstance(event, Message) and event.role == "assistant":
            answer = trace.final_answer
            same = event.text.strip() in (answer.strip(), shorten(answer, TEXT_CHARS).strip())
            return number if same and answer.strip() else 0
    return 0


def _rows(trace: Trace, skill: str, *, side: int) -> tuple[Row, ...]:
    """A row for each event; texts only of `side` rows and `side` errors at either end: no more could be shown."""
    last, count = _last_message(trace), len(trace.events)
    errors = [number for number, event in enumerate(trace.events, start=1) if _is_error(event)]
    read = {*range(1, side + 1), *range(count - side + 1, count + 1), *errors[:side], *errors[-side:]}
    return tuple(
        _row(number, event if number in read else _without_text(event), skill, final=number == last)
        for number, event in enumerate(trace.events, start=1)
    )


def _is_error(event: Event) -> bool:
    return isinstance(event, Failure) or (isinstance(event, ToolCall) and event.ok is False)


def _without_text(event: Event) -> Event:
    match event:
        case ToolCall():
            return replace(event, input=event.input[:40], output="")
        case FileChange():
            return replace(event, text="")
        case _:
            return replace(event, text=event.text[:40])


def _row(number: int, event: Event, skill: str, *, final: bool) -> Row:
    def plain(text: str) -> str:
        return without_skill(neutral(text), skill)

    match event:
        case Message() if final:
            return Row(number, "said the final answer, which is shown below")
        case Message(text, role):
            return Row(number, "reasoning:" if role == "reasoning" else "said:", plain(text))
        case ToolCall(tool, given, output, ok, code):
            status = {True: "ok", False: "FAILED", None: "no result"}[ok]
            status += f", exit code {code}" if code else ""
            head = f"tool {one_line(tool, 60)} [{status}]:"
            return Row(number, head, plain(given), plain(output.strip()), error=ok is False)
        case FileChange(path, kind, text):
            return Row(number, f"file {kind}: {one_line(path, 200)}", plain(text))
        case Failure(text, fatal):
            return Row(number, "FATAL ERROR:" if fatal else "ERROR:", output=plain(text), error=True)


def _told_once(rows: Sequence[Row]) -> tuple[Row, ...]:
    """An error that is told again, word for word, points to the first time."""
    first: dict[tuple[str, str, str], int] = {}
    told: list[Row] = []
    for row in rows:
        known = first.setdefault((row.head, row.given, row.output), row.number)
        again = f"(word for word as {known})"
        repeated = row.error and known != row.number and len(row.given) + len(row.output) > len(again)
        told.append(replace(row, given="", output=again) if repeated else row)
    return tuple(told)
