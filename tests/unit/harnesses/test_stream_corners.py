"""Hostile and broken streams: whatever comes, a trace is made, in bounded memory, and nothing poses as another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesses.traces.builder import EVENTS, TEXT_CHARS
from harnesses.traces.claude_events import parse_claude
from harnesses.traces.codex_events import parse_codex, unwrapped
from harnesses.traces.lines import split_lines
from harnesses.traces.skill_probe import SkillProbe
from harnesses.traces.trace import Failure, Message, ToolCall, Trace
from tests.support.golden import CLAUDE, CODEX, PROBE, case

Parse = Callable[[Iterable[bytes], SkillProbe | None], Trace]
PARSERS: list[Parse] = [parse_codex, parse_claude]


def lines(*events: Any) -> list[bytes]:
    return [json.dumps(event).encode() for event in events]


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 10**20), st.text(max_size=5), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from(["type", "text", "id", "message", "content"]), st.text(max_size=3), max_size=3),
)  # fmt: skip
KEYS = [
    *("item", "usage", "error", "message", "result", "subtype", "is_error", "modelUsage", "tool_use_result", "skills"),
    *("thread_id", "stop_reason", "total_cost_usd", "parent_tool_use_id", "isSynthetic"),
]
ITEM_KEYS = [
    *("id", "type", "text", "command", "status", "exit_code", "aggregated_output", "changes", "content", "model"),
    *("name", "input", "tool_use_id", "is_error"),
]
KINDS = [
    *("thread.started", "turn.started", "turn.completed", "turn.failed", "error", "item.started", "item.completed"),
    *("system", "assistant", "user", "result", "nonsense"),
]
ITEMS = st.dictionaries(
    st.sampled_from(ITEM_KEYS),
    st.one_of(ODD, st.sampled_from(["command_execution", "agent_message", "file_change", "text", "tool_use"])),
)
EVENTS_STRATEGY = st.builds(
    lambda kind, rest: {"type": kind, **rest},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from(KEYS), st.one_of(ODD, ITEMS, st.builds(lambda item: {"content": [item]}, ITEMS))),
)


@pytest.mark.parametrize("parse", PARSERS)
@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS_STRATEGY, max_size=6))
def test_fields_of_wrong_types_never_crash(parse: Parse, events: list[dict[str, Any]]) -> None:
    trace = parse(lines(*events), PROBE)
    assert trace.bad_lines == 0
    repr(trace).encode("utf-8")


@pytest.mark.parametrize("parse", PARSERS)
@given(st.lists(st.binary(max_size=40), max_size=8))
def test_bytes_of_any_kind_never_crash(parse: Parse, garbage: list[bytes]) -> None:
    parse(garbage, PROBE)


@pytest.mark.parametrize(("parse", "folder"), [(parse_codex, CODEX), (parse_claude, CLAUDE)])
def test_garbage_between_the_lines_is_counted_and_changes_nothing_else(parse: Parse, folder: Any) -> None:
    clean = list(split_lines([case(folder, "success").stdout]))
    mixed = [part for line in clean for part in (b"\xff\x00garbage", line, b"", b'{"half": ')]
    trace, expected = parse(mixed, PROBE), parse(clean, PROBE)
    assert trace.bad_lines == 2 * len(clean)
    assert (trace.events, trace.final_answer, trace.usage) == (expected.events, expected.final_answer, expected.usage)


@pytest.mark.parametrize(("parse", "folder"), [(parse_codex, CODEX), (parse_claude, CLAUDE)])
def test_a_stream_cut_anywhere_is_unfinished_but_read(parse: Parse, folder: Any) -> None:
    whole = case(folder, "success").stdout
    for end in range(0, len(whole) - 2, 997):
        trace = parse(split_lines([whole[:end]]), PROBE)
        assert not trace.finished
        assert trace.bad_lines <= 1


def test_a_line_beyond_the_cap_is_one_bad_line() -> None:
    huge = json.dumps({"type": "item.completed", "item": {"type": "agent_message", "text": "x" * 5_000}}).encode()
    end = b'{"type":"turn.completed","usage":{}}'
    trace = parse_codex(split_lines([huge, b"\n", end, b"\n"], cap=1_000), None)
    assert (trace.bad_lines, trace.finished) == (1, True)


def test_unknown_events_are_counted() -> None:
    codex = parse_codex(
        lines({"type": "later.invention"}, {"type": "item.completed", "item": {"type": "new"}}, {}), None
    )
    assert codex.unknown_events == 3
    claude = parse_claude(
        lines(
            {"type": "later_invention"},
            {"type": "system", "subtype": "new"},
            {"type": "assistant", "message": {"id": "m", "content": [{"type": "hologram"}]}},
        ),
        None,
    )
    assert claude.unknown_events == 3


def test_outputs_and_events_are_bounded() -> None:
    message = {"type": "item.completed", "item": {"type": "agent_message", "text": "m" * 5_000}}
    trace = parse_codex(lines(*[message] * (EVENTS + 500), {"type": "turn.failed", "error": {"message": "end"}}), None)
    assert len(trace.events) == EVENTS + 2
    assert trace.events[-2:] == (Failure("end", fatal=True), Failure("500 more events left out of the trace"))
    assert all(len(event.text) < TEXT_CHARS + 100 for event in trace.events if isinstance(event, Message))
    assert len(trace.final_answer) == 5_000


def test_output_keeps_both_ends() -> None:
    item = {"id": "i", "type": "command_execution", "command": "x", "exit_code": 0, "status": "completed"}
    item["aggregated_output"] = "HEAD" + "x" * 100_000 + "TAIL"
    (call,) = parse_codex(lines({"type": "item.completed", "item": item}), None).events
    assert isinstance(call, ToolCall)
    assert call.output.startswith("HEAD")
    assert call.output.endswith("TAIL")
    assert len(call.output) < TEXT_CHARS + 100


def test_lone_surrogates_do_not_reach_the_trace() -> None:
    line = b'{"type":"item.completed","item":{"type":"agent_message","text":"bad \\ud83d end"}}'
    parse_codex([line], None).final_answer.encode("utf-8")


@pytest.mark.parametrize(
    ("command", "inner"),
    [
        ("/bin/bash -lc 'wc -l < a'", "wc -l < a"),
        ("/bin/bash -c 'echo '\"'\"'x'\"'\"''", "echo 'x'"),
        ("/bin/zsh -lc true", "true"),
        ("python3 -c 'print(1)'", "python3 -c 'print(1)'"),
        ("/bin/bash -lc 'unclosed", "/bin/bash -lc 'unclosed"),
        ("", ""),
    ],
)
def test_codex_commands_are_shown_as_the_agent_gave_them(command: str, inner: str) -> None:
    assert unwrapped(command) == inner


def test_a_turn_that_goes_on_after_a_failure_is_what_counts() -> None:
    failed = {"type": "turn.failed", "error": {"message": "x"}}
    done = {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 99, "output_tokens": 2}}
    trace = parse_codex(lines(failed, {"type": "turn.started"}, done), None)
    assert trace.finished
    assert (trace.usage.input_tokens, trace.usage.cached_input_tokens) == (10, 10), "cached is part of the input"
    assert not parse_codex(lines(done, {"type": "turn.started"}, failed), None).finished


def test_claude_error_after_a_success_is_an_error() -> None:
    good = {"type": "result", "is_error": False, "result": "first", "subtype": "success", "stop_reason": "end_turn"}
    bad = {
        "type": "result",
        "is_error": True,
        "subtype": "success",
        "terminal_reason": "api_error",
        "result": "API Error",
    }
    trace = parse_claude(lines(good, bad), None)
    assert (trace.finished, trace.stop_reason, trace.final_answer) == (False, "api_error", "first")
    silent = {"type": "result", "is_error": False, "result": "", "subtype": "success"}
    again = parse_claude(lines(good, silent), None)
    assert (again.finished, again.final_answer) == (True, "first"), "a late empty result does not erase the answer"


def test_claude_result_without_is_error_is_no_success() -> None:
    assert not parse_claude(lines({"type": "result", "subtype": "success", "result": "x"}), None).finished


def test_claude_money_is_unknown_unless_every_model_is_listed() -> None:
    def usage(*bases: str) -> float | None:
        models = {f"m{k}": {"inputTokens": 1, "outputTokens": 1, "costBasis": basis} for k, basis in enumerate(bases)}
        result = {"type": "result", "is_error": False, "result": "x", "total_cost_usd": 0.5, "modelUsage": models}
        return parse_claude(lines(result), None).usage.usd

    assert usage("list", "list") == 0.5
    assert usage("list", "unknown") is None


def test_claude_usage_without_models_is_the_results_own() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2, "output_tokens": None}
    trace = parse_claude(lines({"type": "result", "is_error": True, "usage": usage, "errors": ["boom"]}), None)
    assert (trace.usage.input_tokens, trace.usage.cached_input_tokens, trace.usage.output_tokens) == (10, 3, 0)
    assert trace.events == (Failure("boom", fatal=True),)


def test_tool_ids_may_be_used_again() -> None:
    def call(command: str) -> dict[str, Any]:
        block = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": command}}
        return {"type": "assistant", "message": {"id": command, "content": [block]}}

    def result(text: str) -> dict[str, Any]:
        return {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}}

    trace = parse_claude(lines(call("a"), result("1"), call("b"), result("2"), result("orphan")), None)
    assert [(event.input, event.output) for event in trace.events if isinstance(event, ToolCall)] == [
        ("a", "1"),
        ("b", "2"),
    ]


def test_the_models_prose_cannot_pose_as_an_event() -> None:
    prose = '{"type":"turn.failed","error":{"message":"401 unauthorized"}}'
    trace = parse_codex(lines({"type": "item.completed", "item": {"type": "agent_message", "text": prose}}), None)
    assert trace.events == (Message(prose),)
