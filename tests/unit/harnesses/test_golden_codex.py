"""What each recorded Codex stream says, field by field."""

from __future__ import annotations

import json

import pytest

from harnesses.traces.codex_rollout import RolloutFacts, find_rollouts, read_rollout, root_facts
from harnesses.traces.trace import Failure, FileChange, Message, ToolCall
from sandboxes.gateway.policy import Usage
from tests.support.golden import CODEX, PROBE, case, codex, names


def test_success() -> None:
    trace = codex("success")
    assert trace.events == (
        Message("I should read it", "reasoning"),
        Message("Reading the skill."),
        ToolCall(
            "exec_command",
            "cat .agents/skills/answer-writer/SKILL.md",
            "---\nname: answer-writer\ndescription: DESC_MARKER_AGENTS_7731 Use when asked to produce answer.txt from"
            " input.csv.\n---\n\n# Answer writer\nBODY_MARKER_9942: run `wc -l < input.csv`, then write the number to"
            " answer.txt.\n",
            ok=True,
            exit_code=0,
        ),
        ToolCall("exec_command", "wc -l < input.csv", "3\n", ok=True, exit_code=0),
        ToolCall(
            "exec_command",
            "echo oops >&2; ls /nonexistent; exit 3",
            "oops\nls: cannot access '/nonexistent': No such file or directory\n",
            ok=False,
            exit_code=3,
        ),
        FileChange("/box/ws/answer.txt", "add"),
        Message("Done: wrote answer.txt"),
    )
    assert trace.final_answer == "Done: wrote answer.txt"
    assert trace.usage == Usage(0, 5000, 1000, 250, None), "Codex's input includes the cached tokens"
    assert trace.session_id == "01a227eb-c891-7951-91f5-f250eaddb2f1"
    assert (trace.finished, trace.stop_reason) == (True, "completed")
    assert (trace.skill_listed, trace.skill_opened) == (None, True)
    assert trace.model == ""


@pytest.mark.parametrize(
    ("name", "finished", "stop", "answer"),
    [
        ("success_codemode", True, "completed", "Done: wrote answer.txt"),
        ("success_unknown_model", True, "completed", "Done: wrote answer.txt"),
        ("multi_msg", True, "completed", "second"),
        ("empty_text", True, "completed", ""),
        ("refusal", True, "completed", ""),
        ("drop", False, "disconnected", "partial"),
        ("incomplete_max", False, "max_output_tokens", "partial"),
        ("incomplete_filter", False, "refusal", "partial"),
        ("400_ctx", False, "context", ""),
        ("budget2", False, "budget", ""),
        ("kill_term", False, "", ""),
        ("plain_output", False, "", ""),
        ("badflag", False, "", ""),
    ],
)
def test_how_it_ended(name: str, finished: bool, stop: str, answer: str) -> None:
    trace = codex(name)
    assert (trace.finished, trace.stop_reason, trace.final_answer) == (finished, stop, answer)


def test_retries_and_their_failure_are_told_once() -> None:
    failures = [event for event in codex("429_rate").events if isinstance(event, Failure)]
    assert [failure.fatal for failure in failures] == [False] * 5 + [True]
    assert failures[-1].text == "exceeded retry limit, last status: 429 Too Many Requests"
    assert failures[0].text.startswith("Reconnecting... 1/5")


def test_warning_about_the_model_is_no_error_of_the_agents() -> None:
    stdout = case(CODEX, "success_unknown_model").stdout
    assert b"Model metadata for `fake-model` not found" in stdout
    trace = codex("success_unknown_model")
    assert not [event for event in trace.events if isinstance(event, Failure)]
    assert trace.finished


def test_parallel_calls_keep_their_order_and_results() -> None:
    calls = [event for event in codex("parallel_tools").events if isinstance(event, ToolCall)]
    assert [(call.input, call.output) for call in calls] == [("sleep 1; echo a", "a\n"), ("sleep 1; echo b", "b\n")]


@pytest.mark.parametrize("name", ["leftover_bg", "kill_term"])
def test_a_call_without_a_result_is_neither_ok_nor_failed(name: str) -> None:
    calls = [event for event in codex(name).events if isinstance(event, ToolCall)]
    assert [call.ok for call in calls] == [None]


def test_sub_agent_call() -> None:
    calls = [event for event in codex("spawn_agent").events if isinstance(event, ToolCall)]
    assert [(call.tool, call.ok) for call in calls] == [("spawn_agent", True)]
    assert '"prompt":"sub task"' in calls[0].input


def test_updated_file() -> None:
    assert FileChange("/box/ws/input.csv", "update") in codex("update_patch").events


def test_text_that_is_no_event_is_counted() -> None:
    assert codex("plain_output").bad_lines == 1


@pytest.mark.parametrize("name", names(CODEX))
def test_no_recorded_event_is_unknown(name: str) -> None:
    trace = codex(name)
    assert trace.unknown_events == 0
    assert trace.bad_lines == (1 if name == "plain_output" else 0)


ROLLOUTS = {
    "rollout_explicit": (True, True, "gpt-5.5", 5),
    "rollout_discovered": (True, False, "gpt-5.5", 2),
    "rollout_refusal": (True, True, "gpt-5.5", 1),
    "rollout_codemode": (True, True, "gpt-6.2-sol", 3),
    "rollout_unlisted": (False, False, "gpt-5.5", 1),
    "rollout_subagent": (True, True, "fake-model", 2),
}


@pytest.mark.parametrize("name", ROLLOUTS)
def test_rollout_tells_what_stdout_cannot(name: str) -> None:
    facts = root_facts(case(CODEX, name).out, PROBE)
    assert facts is not None
    assert (facts.skill_listed, facts.skill_injected, facts.model, facts.replies) == ROLLOUTS[name]


def test_rollout_has_the_calls_that_failed_before_they_ran() -> None:
    facts = root_facts(case(CODEX, "rollout_explicit").out, PROBE)
    assert facts is not None
    heads = [call.output.split(":")[0] for call in facts.failed_calls]
    assert heads == ["apply_patch verification failed", "failed to parse function arguments", "unsupported call"]
    assert [(call.tool, call.messages, call.calls) for call in facts.failed_calls] == [
        ("apply_patch", 0, 1),
        ("exec_command", 0, 1),
        ("nope", 0, 1),
    ]
    assert facts.failed_calls[0].given.startswith("*** Begin Patch")
    script = root_facts(case(CODEX, "rollout_codemode").out, PROBE)
    assert script is not None
    assert ["boom" in call.given for call in script.failed_calls] == [True]


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ('exec_command failed: CreateProcess { message: "Rejected(rm -f style commands are not permitted)" }', True),
        ("write_stdin failed: Unknown process id 99", True),
        ("unable to locate image at `/nope.png`", True),
        ("Chunk ID: 1\nProcess exited with code 1\nOutput:\nexec_command failed: forged", False),
        ("Script completed\nOutput:\nunsupported call", False),
        ("Exit code: 0\nOutput:\nSuccess. Updated the following files:\nA x", False),
        ("", False),
    ],
)
def test_calls_that_codex_did_not_run(output: str, failed: bool) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": '{"cmd":"rm -rf x"}'}
    lines = [call, {"type": "function_call_output", "call_id": "c", "output": output}]
    data = b"\n".join(json.dumps({"type": "response_item", "payload": line}).encode() for line in lines)
    assert bool(read_rollout(data, PROBE).failed_calls) is failed


def test_a_sub_agents_file_is_not_the_root() -> None:
    facts = [read_rollout(data, PROBE) for data in find_rollouts(case(CODEX, "rollout_subagent").out)]
    assert sorted(fact.root for fact in facts) == [False, True]


def test_another_skill_is_not_taken_for_this_one() -> None:
    from harnesses.traces.skill_probe import SkillProbe

    facts = root_facts(case(CODEX, "rollout_explicit").out, SkillProbe("answer"))
    assert facts is not None
    assert (facts.skill_listed, facts.skill_injected) == (False, False)


def test_without_rollout_files_nothing_is_said() -> None:
    assert root_facts({"codex/state.sqlite": b"x", "codex/sessions/notes.jsonl": b"{}"}, PROBE) is None


def test_hostile_rollout_survives() -> None:
    lines = [
        b"\xff\xfe",
        b"[]",
        b'{"type":"response_item","payload":[]}',
        b'{"type":"turn_context","payload":{"model":7}}',
    ]
    lines += [b'{"type":"response_item","payload":{"type":"message","role":"developer","content":[1,{"text":2}]}}']
    lines += [b'{"type":"response_item","payload":{"type":"function_call_output","call_id":"x","output":{"a":1}}}']
    lines += [b'{"type":"session_meta","payload":{"source":"exec"}}', b'{"type":' * 10_000]
    assert read_rollout(b"\n".join(lines), PROBE) == RolloutFacts(root=True)
