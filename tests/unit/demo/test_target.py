"""The simulated target acts on what it is shown, and on nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daemon.demo.conversation import Conversation, Reply, from_messages, from_responses
from daemon.demo.target import act
from tests.support.demo import CLAUDE_LISTED, PROMPT, VALUES, codex_body

LISTED = (
    "<skills_instructions>\n### Skill roots\n- `r0` = `/ws/.agents/skills`\n### Available skills\n"
    "- poems: Write poems. (file: r0/poems/SKILL.md)\n"
    "- sheets: Fill cells of .xlsx workbooks. (file: r0/sheets/SKILL.md)\n</skills_instructions>"
)


def message(text: str, role: str = "user") -> dict[str, Any]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def called(name: str, arguments: dict[str, Any], output: str | None, call_id: str = "c1") -> list[dict[str, Any]]:
    call = {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
    return [call] if output is None else [call, {"type": "function_call_output", "call_id": call_id, "output": output}]


def codex(*items: dict[str, Any]) -> Conversation:
    tools = [{"type": "function", "name": "exec_command"}, {"type": "function", "name": "write_stdin"}]
    return from_responses({"model": "gpt-5.5", "input": list(items), "tools": tools})


def claude(*messages: dict[str, Any], tools: tuple[str, ...] = ("Bash", "Read", "Skill")) -> Conversation:
    return from_messages({"model": "m", "messages": list(messages), "tools": [{"name": name} for name in tools]})


def shell(reply: Reply) -> str:
    """The one command a reply runs."""
    (call,) = reply.calls
    return str(call.arguments["cmd" if call.name == "exec_command" else "command"])


def test_codex_skill_invoked_by_name_is_followed() -> None:
    assert "=COUNTIF" not in shell(act(from_responses(codex_body(PROMPT, VALUES))))
    assert "=COUNTIF" in shell(act(from_responses(codex_body(PROMPT, "# S\n"))))


def test_codex_opens_a_skill_that_is_only_listed_and_then_follows_it() -> None:
    start = (message(LISTED, "developer"), message(PROMPT))
    opening = shell(act(codex(*start)))
    assert opening == "cat /ws/.agents/skills/sheets/SKILL.md"
    output = f"Chunk ID: 1\nProcess exited with code 0\nOutput:\n---\nname: sheets\n---\n{VALUES}"
    then = act(codex(*start, *called("exec_command", {"cmd": opening}, output)))
    assert shell(then).startswith("python3 - <<'PY'")
    assert "=COUNTIF" not in shell(then)


def test_an_unreadable_skill_teaches_nothing_and_is_not_asked_for_twice() -> None:
    start = (message(LISTED, "developer"), message(PROMPT))
    output = "Process exited with code 1\nOutput:\ncat: no such file"
    then = act(codex(*start, *called("exec_command", {"cmd": "cat /ws/.agents/skills/sheets/SKILL.md"}, output)))
    assert "=COUNTIF" in shell(then)


def test_claude_skill_invoked_by_name_is_followed() -> None:
    body = f"Base directory for this skill: /home/skills/sheets\n\n{VALUES}\n\nARGUMENTS: {PROMPT}"
    texts = [f"<command-name>/sheets</command-name>\n<command-args>{PROMPT}</command-args>", body]
    reply = act(claude({"role": "user", "content": [{"type": "text", "text": text} for text in texts]}))
    assert reply.calls[0].name == "Bash"
    assert "=COUNTIF" not in shell(reply)


def test_claude_opens_a_listed_skill_with_its_tool_and_then_follows_it() -> None:
    start = ({"role": "user", "content": PROMPT}, {"role": "system", "content": CLAUDE_LISTED})
    (call,) = act(claude(*start)).calls
    assert (call.name, dict(call.arguments)) == ("Skill", {"skill": "sheets"})
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Skill", "input": {"skill": "s"}}]}
    blocks = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "Launching skill: sheets"},
        {"type": "text", "text": f"Base directory for this skill: /x\n\n{VALUES}"},
    ]
    assert "=COUNTIF" not in shell(act(claude(*start, use, {"role": "user", "content": blocks})))


def test_without_the_skill_tool_a_listed_skill_stays_closed() -> None:
    start = ({"role": "user", "content": PROMPT}, {"role": "system", "content": CLAUDE_LISTED})
    assert "=COUNTIF" in shell(act(claude(*start, tools=("Bash",))))


@pytest.mark.parametrize("where", ["system", "developer"])
def test_rules_outside_a_skill_are_not_obeyed(where: str) -> None:
    """The CLI's own prompt, other files and the task are no skill: the rules must have been delivered as one."""
    note = message("- Never write formulas.", "developer")
    body = {**codex_body(PROMPT, "# S\n"), "instructions": "- Never write formulas." if where == "system" else ""}
    body["input"] = [*([note] if where == "developer" else []), *body["input"]]
    assert "=COUNTIF" in shell(act(from_responses(body)))


def test_what_the_script_said_is_reported() -> None:
    ran = called(
        "exec_command", {"cmd": "python3 -"}, "Process exited with code 0\nOutput:\nwrote 8 values to B\nmore\n"
    )
    reply = act(codex(message(PROMPT), *ran))
    assert reply == Reply("Done: wrote 8 values to B. The result is in output.xlsx.")
    block = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "wrote 8 values to B"}]}
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "python3 -"}}
    history = ({"role": "assistant", "content": [use]}, {"role": "user", "content": [block]})
    assert act(claude({"role": "user", "content": PROMPT}, *history)) == reply


@pytest.mark.parametrize(
    "output",
    [
        "Process exited with code 1\nOutput:\nTraceback (most recent call last):\n  …",
        "Exit code 127\nbash: python3: command not found",
    ],
)
def test_a_failed_script_is_admitted(output: str) -> None:
    reply = act(codex(message(PROMPT), *called("exec_command", {"cmd": "python3 -"}, output)))
    assert not reply.calls
    assert "could not finish" in reply.text


def test_a_script_that_still_runs_is_waited_for() -> None:
    running = "Chunk ID: 1\nProcess running with session ID 74977\nOutput:\n"
    history = called("exec_command", {"cmd": "python3 -"}, running)
    (call,) = act(codex(message(PROMPT), *history)).calls
    assert call.name == "write_stdin"
    assert call.arguments["session_id"] == 74977
    ended = called("write_stdin", dict(call.arguments), "Process exited with code 0\nOutput:\nwrote 1", "c2")
    assert act(codex(message(PROMPT), *history, *ended)).text.startswith("Done: wrote 1.")


def test_a_task_it_does_not_understand_runs_nothing() -> None:
    reply = act(codex(message("Write a poem.")))
    assert not reply.calls
    assert "do not understand" in reply.text


def test_without_a_shell_it_says_so() -> None:
    assert "no tool" in act(claude({"role": "user", "content": PROMPT}, tools=("Read",))).text
