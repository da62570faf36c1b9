"""What Codex's session file adds stands where it happened, not at the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harnesses.traces.codex_rollout import FailedCall, Patched, read_rollout
from harnesses.traces.codex_story import with_failed_calls, with_patches
from harnesses.traces.trace import Event, FileChange, Message, ToolCall


def call(name: str) -> ToolCall:
    return ToolCall("exec_command", name, "", ok=True)


EVENTS: tuple[Event, ...] = (
    Message("thinking", "reasoning"),
    call("a"),
    Message("first"),
    call("b"),
    FileChange("/ws/x", "add"),
    FileChange("/ws/y", "update"),
    call("c"),
    Message("last"),
)


@pytest.mark.parametrize(
    ("messages", "calls", "before"),
    [
        (0, 0, 1),  # in front of the first call
        (0, 1, 2),
        (0, 9, 2),  # never beyond the message that came after it
        (1, 0, 3),
        (1, 1, 4),
        (1, 2, 6),  # a patch of two files is one call
        (1, 3, 7),
        (2, 0, 8),
        (9, 9, 8),
    ],
)
def test_a_failed_call_stands_where_it_was_made(messages: int, calls: int, before: int) -> None:
    woven = with_failed_calls(EVENTS, [FailedCall("apply_patch", "p", "no", messages, calls)])
    assert woven[before] == ToolCall("apply_patch", "p", "no", ok=False)
    assert woven[:before] + woven[before + 1 :] == EVENTS


def test_several_failures_keep_their_order() -> None:
    failed = [FailedCall("t", str(n), "no", 1, 1) for n in range(3)]
    woven = with_failed_calls(EVENTS, failed)
    assert [event.input for event in woven[4:7] if isinstance(event, ToolCall)] == ["0", "1", "2"]
    assert with_failed_calls((), failed[:1]) == (ToolCall("t", "0", "no", ok=False),)


def test_a_change_tells_what_was_written() -> None:
    told = with_patches(EVENTS, [Patched("x", "+one"), Patched("z", "+z"), Patched("y", "-a\n+b")])
    assert [event.text for event in told if isinstance(event, FileChange)] == ["+one", "-a\n+b"]
    assert len(told) == len(EVENTS)
    again = with_patches(
        (FileChange("/ws/x", "add"), FileChange("/ws/x", "update")), [Patched("x", "1"), Patched("x", "2")]
    )
    assert [event.text for event in again if isinstance(event, FileChange)] == ["1", "2"]
    assert with_patches((FileChange("/ws/max", "add"),), [Patched("x", "+")]) == (FileChange("/ws/max", "add"),)


def line(**payload: Any) -> bytes:
    return json.dumps({"type": "response_item", "payload": payload}).encode()


def test_patches_are_read_file_by_file_and_only_where_they_were_applied() -> None:
    patch = "*** Begin Patch\n*** Add File: a/b.py\n+one\n+two\n*** Update File: c.txt\n@@\n-x\n+y\n*** End Patch\n"
    data = b"\n".join(
        (
            line(type="custom_tool_call", call_id="1", name="apply_patch", input=patch),
            line(type="custom_tool_call_output", call_id="1", output="Exit code: 0\nOutput:\nSuccess."),
            line(type="custom_tool_call", call_id="2", name="apply_patch", input=patch.replace("a/b.py", "never.py")),
            line(type="custom_tool_call_output", call_id="2", output="apply_patch verification failed: no"),
        )
    )
    facts = read_rollout(data)
    assert facts.patched == [Patched("a/b.py", "+one\n+two"), Patched("c.txt", "@@\n-x\n+y")]
    assert [(failed.tool, failed.messages, failed.calls) for failed in facts.failed_calls] == [("apply_patch", 0, 1)]
