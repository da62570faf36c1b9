"""What each recorded Claude Code stream says, field by field."""

from __future__ import annotations

import pytest

from harnesses.traces.claude_session import SessionFacts, read_session, session_facts
from harnesses.traces.skill_probe import SkillProbe
from harnesses.traces.trace import Failure, FileChange, Message, ToolCall
from sandboxes.gateway.policy import Usage
from tests.support.golden import CLAUDE, PROBE, case, claude, names


def calls(name: str) -> list[ToolCall]:
    return [event for event in claude(name).events if isinstance(event, ToolCall)]


def test_success() -> None:
    trace = claude("success")
    assert [(call.tool, call.ok, call.exit_code) for call in trace.events if isinstance(call, ToolCall)] == [
        ("Skill", True, None),
        ("Read", True, None),
        ("Bash", True, 0),
        ("Bash", False, 3),
        ("Write", True, None),
        ("Edit", True, None),
    ]
    assert trace.events[0] == Message("think", "reasoning")
    assert trace.events[1] == Message("Invoking the skill.")
    assert trace.events[4] == ToolCall("Bash", "wc -l < input.csv", "3", ok=True, exit_code=0)
    changes = [event for event in trace.events if isinstance(event, FileChange)]
    assert changes == [FileChange("/box/ws/answer.txt", "add"), FileChange("/box/ws/answer.txt", "update")]
    assert trace.final_answer == "Done: wrote answer.txt"
    assert trace.turns == 7, "replies are counted by message id, not by content block"
    assert trace.usage == Usage(0, 7000 + 1400 + 2100, 1400, 350, pytest.approx(0.04578))
    assert trace.model == "claude-opus-5-5"
    assert trace.session_id == "ea493a4e-1922-4317-b550-e4a48d48680d"
    assert (trace.skill_listed, trace.skill_opened) == (True, True)
    assert (trace.finished, trace.stop_reason) == (True, "end_turn")


@pytest.mark.parametrize(
    ("name", "finished", "stop", "answer"),
    [
        ("500_then_ok", True, "end_turn", "recovered"),
        ("compact", True, "end_turn", "end"),
        ("400", False, "api_error", ""),
        ("404_model", False, "api_error", ""),
        ("529_r0", False, "api_error", ""),
        ("drop", False, "api_error", "partial"),
        ("max_tokens", False, "max_output_tokens", "partial"),
        ("max_turns", False, "max_turns", ""),
        ("refusal", False, "refusal", ""),
        ("refusal_text", False, "refusal", "I can't help with that."),
        ("sse_error", False, "error", ""),
        ("sig_int_cmd", False, "aborted_tools", ""),
        ("kill_term", False, "", ""),
        ("badflag", False, "", ""),
        ("out_text", False, "", ""),
    ],
)
def test_how_it_ended(name: str, finished: bool, stop: str, answer: str) -> None:
    trace = claude(name)
    assert (trace.finished, trace.stop_reason, trace.final_answer) == (finished, stop, answer)


def test_prose_of_the_cli_is_no_message_of_the_model() -> None:
    for name in ("400", "drop", "max_tokens", "refusal"):
        said = [event.text for event in claude(name).events if isinstance(event, Message)]
        assert not [text for text in said if text.startswith("API Error")], name
        assert [event for event in claude(name).events if isinstance(event, Failure) and event.fatal], name


def test_the_last_of_several_results_counts() -> None:
    trace = claude("session_background")
    assert trace.final_answer == "second answer"
    assert trace.turns == 3
    assert trace.usage == Usage(0, 3 * 1500, 3 * 200, 150, pytest.approx(3 * 0.00654)), "totals, not the last part"
    assert claude("bash_timeout2").usage.input_tokens == 4500


def test_sub_agents_calls_are_marked_and_their_answer_is_not_final() -> None:
    trace = claude("session_subagent")
    assert [call.tool for call in calls("session_subagent")] == ["Agent", "sub-agent: Bash"]
    assert trace.final_answer == "main answer"
    assert trace.turns == 2
    assert trace.usage.input_tokens == 4 * 1500, "modelUsage includes sub-agents"


def test_failed_tools_are_failed_calls() -> None:
    assert [call.ok for call in calls("bad_edit")] == [False]
    assert [call.ok for call in calls("unknown_tool")] == [False]
    assert [call.ok for call in calls("bad_input")] == [False]


def test_denied_permission_and_retries_are_told() -> None:
    texts = [event.text for event in claude("perm_default").events if isinstance(event, Failure)]
    assert texts[0].startswith("permission denied: Bash: ")
    retries = [event for event in claude("500_r2").events if isinstance(event, Failure) and not event.fatal]
    assert retries
    assert all("request retried: server_error (status 500)" in retry.text for retry in retries)


@pytest.mark.parametrize(
    ("name", "listed"),
    [("v_slash", True), ("v_bare", False), ("v_nomodelinv", False), ("badflag", None), ("root_refused", None)],
)
def test_skill_listed(name: str, listed: bool | None) -> None:
    assert claude(name).skill_listed is listed


def test_without_a_skill_nothing_is_said_of_one() -> None:
    trace = claude("success", probe=None)
    assert (trace.skill_listed, trace.skill_opened) == (None, False)


def test_asking_for_a_skill_that_is_unknown_opens_nothing() -> None:
    assert not claude("setting_hang", SkillProbe("nope")).skill_opened


@pytest.mark.parametrize("name", names(CLAUDE))
def test_no_recorded_event_is_unknown(name: str) -> None:
    trace = claude(name)
    assert trace.unknown_events == 0
    assert trace.bad_lines == (1 if name == "out_text" else 0)


SESSIONS = {
    "session_explicit": SessionFacts(skill_listed=True, skill_injected=True, model="claude-opus-5-5"),
    "session_discovered": SessionFacts(skill_listed=True, skill_injected=True, model="claude-opus-5-5"),
    "session_background": SessionFacts(skill_listed=True, skill_injected=False, model="claude-opus-5-5"),
    "session_unlisted": SessionFacts(skill_listed=False, skill_injected=False, model="claude-opus-5-5"),
}


@pytest.mark.parametrize("name", SESSIONS)
def test_session_file_tells_what_the_model_was_sent(name: str) -> None:
    trace = claude(name)
    assert session_facts(case(CLAUDE, name).out, trace.session_id, PROBE) == SESSIONS[name]


def test_stdout_alone_would_have_called_the_unlisted_skill_listed() -> None:
    assert claude("session_unlisted").skill_listed is True


def test_only_the_sessions_own_file_counts() -> None:
    files = case(CLAUDE, "session_explicit").out
    assert session_facts(files, "another-session", PROBE) is None
    assert session_facts(files, "", PROBE) is None


def test_hostile_session_survives() -> None:
    lines = [b"\xff", b"[]", b'{"type":"attachment","attachment":"x"}', b'{"type":"user","isMeta":true,"message":3}']
    lines += [b'{"type":"attachment","attachment":{"type":"skill_listing","names":"answer-writer"}}']
    lines += [b'{"type":"user","isMeta":true,"message":{"content":[{"text":["Base directory"]}]}}', b'{"a":' * 9_999]
    assert read_session(b"\n".join(lines), PROBE) == SessionFacts()
