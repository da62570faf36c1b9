"""What both stream parsers share: an ordered, bounded record of what happened, in which a call's result fills its slot.

Invariant: memory is bounded by `EVENTS` events of at most about `TEXT_CHARS` characters; what is beyond is counted.
"""

from __future__ import annotations

from dataclasses import replace

from harnesses.traces.text import shorten
from harnesses.traces.trace import Event, Failure, FileChange, Message, ToolCall

EVENTS = 4_000
TEXT_CHARS = 4_000
ANSWER_CHARS = 100_000


class TraceBuilder:
    """Collects events in the order in which they began."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.dropped = 0
        self._slots: dict[str, int] = {}

    def message(self, text: str, *, reasoning: bool = False) -> None:
        """Text of the agent; blank text is no event."""
        if text.strip():
            self._add(Message(shorten(text, TEXT_CHARS), "reasoning" if reasoning else "assistant"))

    def call(self, key: str, tool: str, given: str) -> None:
        """A tool call began."""
        if key in self._slots:
            return
        if len(self.events) < EVENTS:
            self._slots[key] = len(self.events)
        self._add(ToolCall(tool, shorten(given, TEXT_CHARS), "", None))

    def result(self, key: str, output: str, *, ok: bool, exit_code: int | None = None) -> ToolCall | None:
        """Its result came; returns the finished call, None if no such call is open."""
        index = self._slots.pop(key, None)
        if index is None or index >= len(self.events):
            return None
        call = self.events[index]
        if not isinstance(call, ToolCall):
            return None
        done = replace(call, output=shorten(output, TEXT_CHARS), ok=ok, exit_code=exit_code)
        self.events[index] = done
        return done

    def change(self, path: str, kind: str) -> None:
        """A file was reported to have changed."""
        if path and kind in ("add", "update", "delete"):
            self._add(FileChange(shorten(path, 500), kind))  # type: ignore[arg-type]

    def failure(self, text: str, *, fatal: bool = False) -> None:
        """The harness reported an error; one told twice in a row counts once, as the graver."""
        text = shorten(text, TEXT_CHARS)
        last = self.events[-1] if self.events else None
        if isinstance(last, Failure) and last.text == text:
            self.events[-1] = replace(last, fatal=last.fatal or fatal)
        else:
            self._add(Failure(text, fatal))

    def _add(self, event: Event) -> None:
        if len(self.events) >= EVENTS and not (isinstance(event, Failure) and event.fatal):
            self.dropped += 1
        else:
            self.events.append(event)

    def finished(self) -> tuple[Event, ...]:
        """All of it, with a note of what was left out."""
        if self.dropped:
            return (*self.events, Failure(f"{self.dropped} more events left out of the trace"))
        return tuple(self.events)
