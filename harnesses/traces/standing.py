"""How far a CLI that still runs has come, from what it printed so far: at its end, or with something at work.

Invariants: bounded in memory; a hostile stream can at worst make the attempt end early or last to its deadline, and
both are the agent's own loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from harnesses.traces.fields import dict_of, dicts_of, text_of
from harnesses.traces.lines import parse_object

_OPEN = 1_000
"""Calls that are remembered; beyond them the stream counts as at work."""
_ENDS = {"turn.completed", "turn.failed", "result"}


@dataclass(frozen=True)
class Standing:
    """What the last lines say."""

    ended: bool = False
    """The newest event is the one that ends a run: nothing more is to come."""
    working: bool = False
    """A tool call, or something that one left running, has not come to its end: silence is the agent's own."""


@dataclass
class _Reading:
    last: str = ""
    open: set[str] = field(default_factory=set)
    more: bool = False

    def began(self, key: str) -> None:
        if len(self.open) < _OPEN:
            self.open.add(key)
        else:
            self.more = True

    def ended(self, key: str) -> None:
        self.open.discard(key)


def standing(lines: Iterable[bytes]) -> Standing:
    """Of a stream of either CLI."""
    reading = _Reading()
    for line in lines:
        event = parse_object(line)
        if event is not None:
            _event(reading, event)
    working = bool(reading.open) or reading.more
    # Codex ends with its turn; Claude Code waits for what still runs, and may have more to say then.
    ended = reading.last in _ENDS and not (working and reading.last == "result")
    return Standing(ended, working and not ended)


def _event(reading: _Reading, event: dict[str, object]) -> None:
    reading.last = text_of(event, "type")
    match reading.last:
        case "item.started" | "item.completed":
            key = f"item {text_of(dict_of(event, 'item'), 'id')}"
            (reading.began if reading.last == "item.started" else reading.ended)(key)
        case "assistant" | "user":
            for block in dicts_of(dict_of(event, "message"), "content"):
                if block.get("type") == "tool_use":
                    reading.began(f"call {text_of(block, 'id')}")
                elif block.get("type") == "tool_result":
                    reading.ended(f"call {text_of(block, 'tool_use_id')}")
        case "system":
            key = f"task {text_of(event, 'task_id')}"
            if event.get("subtype") == "task_started":
                reading.began(key)
            elif event.get("subtype") == "task_notification":
                reading.ended(key)
