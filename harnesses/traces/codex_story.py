"""Puts what Codex's session file tells into the trace of its stdout, where it happened.

The two records share no ids. What they share is the order: a call is placed by the messages of the agent before it, and
by the calls between the last of those and it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from harnesses.traces.builder import TEXT_CHARS
from harnesses.traces.codex_rollout import FailedCall, Patched
from harnesses.traces.text import shorten
from harnesses.traces.trace import Event, FileChange, Message, ToolCall


def with_failed_calls(events: Sequence[Event], failed: Sequence[FailedCall]) -> tuple[Event, ...]:
    """The events with the calls that stdout has no event of, each where it was made."""
    placed: dict[int, list[Event]] = {}
    for call in failed:
        event = ToolCall(call.tool, call.given, call.output, ok=False)
        placed.setdefault(_place(events, call.messages, call.calls), []).append(event)
    woven: list[Event] = []
    for index in range(len(events) + 1):
        woven += placed.get(index, [])
        woven += events[index : index + 1]
    return tuple(woven)


def with_patches(events: Sequence[Event], patched: Sequence[Patched]) -> tuple[Event, ...]:
    """The events with what was written into each file, as far as the patches tell."""
    left = list(patched)
    told: list[Event] = []
    for event in events:
        if isinstance(event, FileChange) and not event.text:
            found = next((patch for patch in left if _same(event.path, patch.path)), None)
            if found is not None:
                left.remove(found)
                told.append(replace(event, text=shorten(found.hunk, TEXT_CHARS)))
                continue
        told.append(event)
    return tuple(told)


def _place(events: Sequence[Event], messages: int, calls: int) -> int:
    """The index in front of which a call belongs that came after so many messages, and then so many calls."""
    index = 0
    while index < len(events) and messages:
        messages -= _is_message(events[index])
        index += 1
    while index < len(events) and not _is_message(events[index]):
        if _begins_call(events, index):
            if not calls:
                break
            calls -= 1
        index += 1
    return index


def _is_message(event: Event) -> bool:
    return isinstance(event, Message) and event.role == "assistant"


def _begins_call(events: Sequence[Event], index: int) -> bool:
    """One patch may change several files: those count once."""
    event = events[index]
    patch = isinstance(event, FileChange) and not (index and isinstance(events[index - 1], FileChange))
    return patch or isinstance(event, ToolCall)


def _same(full: str, relative: str) -> bool:
    return full == relative or full.endswith("/" + relative.removeprefix("./"))
