"""Session files of both CLIs, recorded from the real ones, come to the same turns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harnesses.traces.builder import EVENTS
from harnesses.traces.claude_events import OPEN_CALLS
from harnesses.traces.lines import parse_object, read_lines
from harnesses.traces.session import FILE_CHARS, About, Turn
from harnesses.traces.session_stream import SNIFFED, SessionStream
from harnesses.traces.skill_sightings import body_digest, handed_over, invoked, listed_in, read_by, read_from
from harnesses.traces.trace import Message, ToolCall
from tests.support.golden import CLAUDE, CODEX, ROOT

SESSIONS = ROOT.parent / "sessions"
BODY = "# Answer writer\nCount lines with wc.\n"
SKILL = f"---\nname: answer-writer\ndescription: Use when asked to produce answer.txt.\n---\n\n{BODY}"


def read(entries: list[dict[str, Any]]) -> tuple[About | None, list[Turn]]:
    stream = SessionStream()
    turns = [turn for entry in entries if (turn := stream.entry(entry))]
    last = stream.end()
    return stream.about, [*turns, last] if last else turns


def recorded(name: str) -> tuple[About, list[Turn]]:
    about, turns = read([entry for line in read_lines(SESSIONS / f"{name}.jsonl") if (entry := parse_object(line))])
    assert about is not None
    return about, turns


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "sessionId": "s", "uuid": "u", "message": {"role": "user", "content": text}, **more}


def answered(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {"id": "m", "model": "claude-x", "content": list(blocks)}
    return {"type": "assistant", "sessionId": "s", "message": message, **more}


def used(key: str, tool: str, **given: Any) -> dict[str, Any]:
    return answered({"type": "tool_use", "id": key, "name": tool, "input": given})


def result(key: str, output: str, *, failed: bool = False, structured: Any = None) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": key, "content": output, "is_error": failed}
    return {"type": "user", "sessionId": "s", "message": {"content": [block]}, "toolUseResult": structured}


def item(**payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_session_is_cut_into_what_the_person_asked(name: str) -> None:
    about, turns = recorded(name)
    assert [(turn.prompt, turn.ending) for turn in turns] == [
        ("Count the lines of input.csv and write answer.txt", "answered"),
        ("No, that is wrong: count again with wc", "answered"),
        ("Now also count the words", "interrupted"),
    ]
    failed = [event.input for event in turns[0].trace.events if isinstance(event, ToolCall) and event.ok is False]
    assert failed[:3] == ["python3 count.py input.csv"] * 3
    assert turns[1].trace.events[-1] == Message("Now it is 2.")
    assert about.root
    assert about.folder == "/box/ws"
    assert about.started is not None
    assert about.ended is not None
    assert about.ended > about.started


def test_both_clis_tell_the_same_of_a_skill() -> None:
    for name in ("claude", "codex"):
        about, turns = recorded(name)
        assert "answer-writer" in about.listed
        found = about.opened["answer-writer"]
        assert found.digest == body_digest(SKILL), name
        assert found.path.removesuffix("/SKILL.md").endswith("skills/answer-writer")
        assert all(turn.opened == ("answer-writer",) for turn in turns)


@pytest.mark.parametrize("name", ["claude_provider", "codex_provider"])
def test_a_failure_of_the_provider_is_no_failure_of_the_agent(name: str) -> None:
    about, [turn] = recorded(name)
    assert turn.ending == "broken"
    assert list(about.opened) == []


def test_files_are_known_as_far_as_they_were_read_whole_before_anything_was_changed() -> None:
    whole = {"file": {"content": "a\nb\n", "startLine": 1, "numLines": 3, "totalLines": 3}}
    part = {"file": {"content": "a\n", "startLine": 1, "numLines": 1, "totalLines": 900}}
    large = {"file": {"content": "x" * (FILE_CHARS + 1), "startLine": 1, "numLines": 1, "totalLines": 1}}
    entries = [said("go")]
    for number, structured in enumerate((whole, part, large)):
        entries += [
            used(f"{number}", "Read", file_path=f"/w/{number}"),
            result(f"{number}", "…", structured=structured),
        ]
    entries += [used("e", "Edit", file_path="/w/0"), result("e", "ok"), used("l", "Read", file_path="/w/late")]
    entries += [result("l", "…", structured=whole)]
    about, _ = read(entries)
    assert about is not None
    assert about.files == {"/w/0": "a\nb\n", "/w/1": None, "/w/2": None}


def test_the_recorded_sub_agents_are_no_sessions_of_people() -> None:
    files = sorted((CODEX / "rollout_subagent").rglob("rollout-*.jsonl"))
    abouts = [read([e for line in read_lines(file) if (e := parse_object(line))])[0] for file in files]
    assert sorted(about.root for about in abouts if about) == [False, True]
    about, turns = read([said("sub", isSidechain=True), answered({"type": "text", "text": "x"}, isSidechain=True)])
    assert about is not None
    assert (about.root, turns) == (False, [])


def test_every_recorded_session_of_an_attempt_reads_too() -> None:
    files = [*CODEX.rglob("rollout-*.jsonl"), *CLAUDE.rglob("projects/*/*.jsonl")]
    assert len(files) > 10
    for file in files:
        about, turns = read([e for line in read_lines(file) if (e := parse_object(line))])
        assert about is not None
        assert about.session_id in file.name
        assert turns


def test_what_nobody_said_is_no_turn() -> None:
    entries = [
        said("<local-command-caveat>x"),
        said("<command-name>/clear</command-name><command-args></command-args>"),
        said(
            "<command-message>tidy</command-message>\n<command-name>/tidy</command-name>"
            "<command-args>it all</command-args>"
        ),
        said("Base directory for this skill: /s/tidy\n\nBODY", isMeta=True),
        said("what was said before", isCompactSummary=True),
        answered({"type": "text", "text": "Done"}),
    ]
    about, turns = read(entries)
    assert [turn.prompt for turn in turns] == ["/tidy it all"]
    assert about is not None
    assert list(about.opened) == ["tidy"]
    harness = [
        item(type="message", role="user", content=[{"type": "input_text", "text": text}])
        for text in ("<environment_context>x", "# AGENTS.md instructions for /x", "Do it", "<turn_aborted>\nx")
    ]
    _, turns = read([{"type": "session_meta", "payload": {"id": "i"}}, *harness])
    assert [(turn.prompt, turn.ending) for turn in turns] == [("Do it", "interrupted")]


def test_a_message_typed_while_the_agent_works_begins_a_turn_and_abandons_none() -> None:
    queued = {"type": "attachment", "sessionId": "s", "attachment": {"type": "queued_command", "prompt": "use wc"}}
    _, turns = read(
        [said("count"), used("1", "Bash", command="cat x"), queued, answered({"type": "text", "text": "2"})]
    )
    assert [(turn.prompt, turn.ending) for turn in turns] == [("count", "steered"), ("use wc", "answered")]


def test_a_refused_call_tells_what_the_person_said() -> None:
    text = (
        "The user doesn't want to proceed with this tool use. STOP. To tell you how to proceed, the user said:\nuse wc"
    )
    _, [turn] = read([said("count"), used("1", "Bash", command="rm -r ."), result("1", text, failed=True)])
    assert turn.denials == ("use wc",)


def test_older_rollouts_tell_commands_by_their_calls_alone() -> None:
    shell = '{"command":["bash","-lc","pytest -q"]}'
    output = json.dumps({"output": "1 failed", "metadata": {"exit_code": 1}})
    _, [turn] = read(
        [
            {"type": "session_meta", "payload": {"id": "i"}},
            item(type="message", role="user", content=[{"text": "test it"}]),
            item(type="function_call", name="shell", arguments=shell, call_id="c"),
            item(type="function_call_output", call_id="c", output=output),
        ]
    )
    assert turn.trace.events == (ToolCall("shell", "pytest -q", "1 failed", ok=False, exit_code=1),)
    assert turn.ending == "silent"


def test_what_is_no_session_is_said_to_be_none() -> None:
    stream = SessionStream()
    for _ in range(SNIFFED):
        assert not stream.hopeless
        assert stream.entry({"type": "other", "payload": 3}) is None
    assert stream.hopeless
    assert stream.about is None
    assert stream.end() is None


@pytest.mark.parametrize("make", [lambda n: used(f"c{n}", "Bash", command="x" * 50), lambda n: answered(id=n)])
def test_a_turn_of_any_length_is_held_within_bounds(make: Any) -> None:
    stream = SessionStream()
    stream.entry(said("go"))
    for number in range(3 * EVENTS):
        stream.entry(make(number))
    turn = stream.end()
    assert turn is not None
    assert len(turn.trace.events) <= EVENTS + 1
    assert len(vars(stream._reader)["_calls"]) <= OPEN_CALLS


def test_fields_of_the_wrong_type_are_empty_and_raise_nothing() -> None:
    for odd in (None, 3, "x", [], {}, [3, None], {"type": 3}, [{"type": "tool_result", "tool_use_id": []}]):
        for kind in ("user", "assistant", "attachment", "system"):
            read([said("go"), {"type": kind, "sessionId": odd, "message": odd, "attachment": odd, "timestamp": odd}])
            read([said("go"), {"type": kind, "sessionId": "s", "message": {"content": odd}, "toolUseResult": odd}])
        for kind in ("session_meta", "response_item", "event_msg", "turn_context"):
            read([{"type": "session_meta", "payload": {}}, {"type": kind, "payload": odd}])
        for part in ("message", "function_call", "function_call_output", "custom_tool_call", "local_shell_call"):
            read([item(type=part, role="user", content=odd, call_id=odd, name=odd, arguments=odd, output=odd)])
        read(
            [
                {
                    "type": "event_msg",
                    "payload": {"type": "item_completed", "item": {"type": "CommandExecution", "id": odd}},
                }
            ]
        )


def test_sightings() -> None:
    assert handed_over("Base directory for this skill: /a/b\n\n# B\n\n\nARGUMENTS: x") == handed_over(
        "Base directory for this skill: /a/b/\n\n# B\n"
    )
    assert handed_over("nothing") is None
    assert invoked("plug:tidy") == invoked("/tidy")
    assert read_from("notes/README.md") is None
    assert read_from("/a/tidy/SKILL.md", SKILL) is not None
    assert [one.name for one in read_by("cat a/x/SKILL.md b/y/SKILL.md", "# X\n# Y")] == ["x", "y"]
    assert read_by("ls a/x/SKILL.md", "a/x/SKILL.md\n") == ()
    assert listed_in("<skills_instructions>\n- a: A\n- b: B\n### How\n- Note: x\n</skills_instructions>- c: C") == [
        "a",
        "b",
    ]
    assert body_digest(SKILL) == body_digest("# Answer writer\r\nCount lines with wc.")
