"""The compact trace summary that the optimizer reads: the same shape for every harness, bounded.

It is made when an attempt ends (`summarize`, bounded by characters, journaled) and made smaller, still as a summary,
when it is put before the optimizer beside others (`condensed`, bounded by tokens).
Invariants: every error is kept; of the rest both ends are kept; the skill's own text is not repeated; no control or
invisible character gets through; each line of untrusted text is indented, so that it cannot pose as a heading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from harnesses.traces.builder import TEXT_CHARS
from harnesses.traces.rows import Row, clipped, indented, laid_out
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
_STORY = "what happened, in order:"
_ANSWER = "final answer:"
_FILES_SHOWN = 40
_ROW = re.compile(r"(\d{1,9})\. (.*)")
_ERROR = re.compile(r"(?:FATAL )?ERROR\b|tool .*\[FAILED[^\]]*\]:$")
_SAID = re.compile(r"(?:said|reasoning):")
_GAP = re.compile(r"  \(… (\d{1,9}) left out.*…\)")
_TRIES = 8
_NOTE_CHARS = 45
"""That something was left out is a text, too."""


@dataclass(frozen=True)
class _Summary:
    """A summary in its parts."""

    head: str
    rows: tuple[Row, ...]
    total: int
    """Events there were; those without a row were left out."""
    answer: str

    def text(self, limit: int) -> str:
        """In about `limit` characters: the answer gets a quarter, and what the rows do not need."""
        answer = self.answer.strip()
        room = max(200, limit - len(self.head) - len(_ANSWER) - 4)
        needed = sum(len(row.text()) + 1 for row in self.rows)
        answer = clipped(answer, max(160, room // 4, room - needed))
        shown = indented(answer) if answer else "  (none)"
        story = laid_out(self.rows, max(160, room - len(shown)), total=self.total)
        return f"{self.head}\n{_STORY}\n{story}\n{_ANSWER}\n{shown}\n"


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
    last = _last_message(trace)
    rows = tuple(_row(number, event, skill, final=number == last) for number, event in enumerate(trace.events, start=1))
    answer = without_skill(neutral(trace.final_answer).strip(), skill)
    head = _head(trace, outcome, harness, files)
    return _Summary(head, _told_once(rows), len(rows), answer).text(limit)


def condensed(summary: str, budget: int, *, skill: str = "") -> str:
    """A journaled summary in at most about `budget` tokens (estimated): whole rows, both ends, every error.

    Text that is no summary of ours is shortened as text.
    """
    known = _parsed(summary)
    if known is None:
        plain = without_skill(neutral(summary), skill)
        return plain if tokens(plain) <= budget else _fitted(plain, budget, lambda limit: clipped(plain, limit))
    if skill:
        rows = tuple(
            replace(r, given=without_skill(r.given, skill), output=without_skill(r.output, skill)) for r in known.rows
        )
        known = replace(known, rows=rows, answer=without_skill(known.answer, skill))
    return _fitted(summary, budget, known.text)


def final_answer_of(summary: str) -> str | None:
    """The final answer as a summary shows it (perhaps shortened, perhaps empty); None if it is no summary of ours."""
    known = _parsed(summary)
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
    if (cost := tokens(found)) <= budget:
        return found
    return clipped(found, max(20, len(found) * budget // cost - _NOTE_CHARS))


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


def _parsed(summary: str) -> _Summary | None:
    """The parts of a summary; None if it has not their shape."""
    lines = summary.split("\n")
    if _STORY not in lines or _ANSWER not in lines:
        return None
    start = lines.index(_STORY)
    end = len(lines) - 1 - lines[::-1].index(_ANSWER)
    if end < start:
        return None
    rows, total = _rows(lines[start + 1 : end])
    answer = "\n".join(line.removeprefix("  ") for line in lines[end + 1 :]).strip()
    return _Summary("\n".join(lines[:start]), rows, total, "" if answer == "(none)" else answer)


def _rows(lines: Sequence[str]) -> tuple[tuple[Row, ...], int]:
    """The rows, and how many there were before some were left out: told by the numbers and by a gap at the end."""
    rows: list[Row] = []
    texts: dict[int, tuple[list[str], list[str]]] = {}
    for line in lines:
        number = rows[-1].number if rows else 0
        if (start := _ROW.fullmatch(line)) and int(start[1]) > number:
            rows.append(Row(int(start[1]), start[2], error=_ERROR.match(start[2]) is not None))
            texts[rows[-1].number] = ([], [])
        elif rows and not _GAP.fullmatch(line):
            given, output = texts[number]
            if line.startswith("  > ") and not _SAID.match(rows[-1].head):
                output.append(line.removeprefix("  > "))
            else:
                (output or given).append(line.removeprefix("  "))
    whole = tuple(replace(r, given="\n".join(texts[r.number][0]), output="\n".join(texts[r.number][1])) for r in rows)
    gap = _GAP.fullmatch(lines[-1]) if lines else None
    return whole, (whole[-1].number if whole else 0) + (int(gap[1]) if gap else 0)
