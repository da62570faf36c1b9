"""How far a CLI has come, from every recorded stream: none that ended looks at work, and none at work looks ended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harnesses.traces.lines import split_lines
from harnesses.traces.standing import Standing, standing
from tests.support.golden import CLAUDE, CODEX, case, names

CASES = [(folder, name) for folder in (CODEX, CLAUDE) for name in names(folder)]
WITHOUT_END = {
    "badflag", "bad_input", "nohome", "plain_output", "kill_term", "sig_term_cmd", "root_refused", "v_bare",
    "v_nomodelinv", "v_slash", "out_text", "setting_hang", "net_default_45s", "partial", "leftover_bg", "longcmd",
}  # fmt: skip


def of(*events: dict[str, Any]) -> Standing:
    return standing(json.dumps(event).encode() for event in events)


@pytest.mark.parametrize(("folder", "name"), CASES, ids=lambda one: one.name if isinstance(one, Path) else one)
def test_a_recorded_run_with_its_end_has_ended(folder: Path, name: str) -> None:
    lines = [line for line in split_lines([case(folder, name).stdout]) if line.strip()]
    last = json.loads(lines[-1]).get("type") if lines and lines[-1].startswith(b"{") else ""
    assert standing(lines).ended is (last in {"turn.completed", "turn.failed", "result"})


@pytest.mark.parametrize(("folder", "name"), CASES, ids=lambda one: one.name if isinstance(one, Path) else one)
def test_no_prefix_of_a_recorded_run_looks_ended_before_its_first_end(folder: Path, name: str) -> None:
    lines = [line for line in split_lines([case(folder, name).stdout]) if line.strip()]
    ends = (b'"type":"turn.completed"', b'"type":"turn.failed"', b'"type":"result"')
    first = next((n for n, line in enumerate(lines) if any(end in line for end in ends)), len(lines))
    assert not any(standing(lines[:count]).ended for count in range(first + 1))


def test_a_command_of_codex_is_at_work_until_its_result() -> None:
    began = {"type": "item.started", "item": {"id": "item_1", "type": "command_execution"}}
    assert of(began) == Standing(working=True)
    done = {"type": "item.completed", "item": {"id": "item_1", "type": "command_execution"}}
    assert of(began, done) == Standing()
    assert of(began, {"type": "turn.completed"}) == Standing(ended=True)


def test_a_call_of_claude_is_at_work_until_its_result() -> None:
    call = {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Bash"}]}}
    result = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1"}]}}
    assert of(call) == Standing(working=True)
    assert of(call, result) == Standing()


def test_claude_waits_for_what_it_left_running() -> None:
    began = {"type": "system", "subtype": "task_started", "task_id": "b1"}
    over = {"type": "system", "subtype": "task_notification", "task_id": "b1"}
    assert of(began, {"type": "result"}) == Standing(working=True)
    assert of(began, over, {"type": "result"}) == Standing(ended=True)


def test_garbage_says_nothing() -> None:
    assert (
        standing([b"\x00\xff", b"[]", b'"result"', b"null", b'{"type": 3}', b'{"type": "item.started"}']).ended is False
    )
    assert standing([]) == Standing()


def test_more_calls_than_are_remembered_count_as_at_work() -> None:
    began = ({"type": "item.started", "item": {"id": str(number)}} for number in range(1_500))
    done = ({"type": "item.completed", "item": {"id": str(number)}} for number in range(1_000))
    assert of(*began, *done).working
