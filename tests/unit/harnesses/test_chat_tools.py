"""A chat model with tools: what it is told, what its scripts do, every bound, and whose fault a failure is."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harnesses.chat import ChatHarness, ChatSettings
from harnesses.chat_tools import Boxes
from harnesses.harness import Attempt, ChatTools
from harnesses.models.client import ModelReply, ToolUse
from harnesses.models.fake import ScriptedModel
from harnesses.outcome import POLICIES, Outcome
from harnesses.script_tool import SCRIPT_BYTES, SCRIPT_S, STDERR_CHARS, STDOUT_CHARS
from harnesses.tool_room import LAST_WORD, SYSTEM
from harnesses.traces.trace import Message, ToolCall
from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.gateway.policy import Caps, ProviderError, ProviderFailure, Usage
from sandboxes.sandbox import Command, Ending, Limits, SandboxError
from tests.support.harnesses import SKILL, assignment
from tests.support.waiting import LONGER_S

EACH = Usage(1, 100, 20, 5, 0.01)
Said = ModelReply | ProviderError


def call(tool: str, text: str = "", **arguments: Any) -> ModelReply:
    return ModelReply(text, EACH, "end", "m-1", (ToolUse("c0", tool, arguments),))


def run(code: str) -> ModelReply:
    return call("run_python", code=code)


DONE = ModelReply("It is 2.", EACH, "end", "m-1")


def playing(box: FakeBox, command: Command) -> FakeAnswer:
    """A stand-in for Python: the first word of a script says what becomes of it."""
    code = command.argv[-1]
    word, _, rest = code.partition("\n")[0].partition(" ")
    match word:
        case "write":
            (box.workspace / rest).write_text("new")
        case "delete":
            (box.workspace / rest).unlink()
        case "fail":
            trace = b'Traceback (most recent call last):\n  File "<string>", line 2, in <module>\nValueError: no\n'
            return FakeAnswer(b"half way\n", trace, exit_code=1)
        case "confuse":
            places = b"".join(b'File "<string>", line %d\n' % number for number in (3, 0, 999_999))
            return FakeAnswer(b"", places, exit_code=1)
        case "flood":
            return FakeAnswer(b"x" * 3_000_000, b"y" * 3_000_000)
        case "binary":
            return FakeAnswer(bytes(range(256)))
        case "late" | "hungry" | "lost" | "killed":
            ends = {"late": "deadline", "hungry": "out_of_memory"}
            return FakeAnswer(ending=Ending(ends.get(word, word)), exit_code=None, detail=f"it was {word}")
    return FakeAnswer(f"ran {code}\n".encode())


async def worked(
    folder: Path,
    *replies: Said,
    tools: ChatTools | None = None,
    sandbox: FakeSandbox | None = None,
    caps: Caps | None = None,
    **changes: Any,
) -> tuple[Attempt, ScriptedModel]:
    left = list(replies)
    model = ScriptedModel(lambda _: left.pop(0) if len(left) > 1 else left[0])
    boxes = Boxes(sandbox or FakeSandbox(playing))
    harness = ChatHarness(model, ChatSettings(caps=caps or Caps()), boxes)
    tools = tools or ChatTools("python", turns=30)
    return await harness.run(assignment(folder, tools=tools, **changes)), model


def told(model: ScriptedModel, number: int = 1) -> str:
    return model.requests[number].messages[-1].answers[0].text


async def test_a_model_reads_runs_and_answers(tmp_path: Path) -> None:
    replies = (call("read_file", "I look first.", path="input.csv"), run("write out.csv"), DONE)
    attempt, _ = await worked(tmp_path, *replies)
    assert (attempt.outcome, attempt.detail, attempt.trace.final_answer) == (Outcome.COMPLETED, "", "It is 2.")
    assert attempt.workspace.files == {"input.csv": b"a\nb\n", "out.csv": b"new"}
    assert attempt.usage == attempt.trace.usage == Usage(3, 300, 60, 15, 0.03)
    assert attempt.trace.events == (
        Message("I look first."),
        ToolCall("read_file", "input.csv", "input.csv, characters 0 to 4 of 4:\na\nb\n", ok=True),
        ToolCall("run_python", "write out.csv", "exit code 0\nran write out.csv\nfiles changed: add out.csv", ok=True),
        Message("It is 2."),
    )
    assert "files changed in the end: add out.csv" in attempt.summary
    assert "write out.csv" in attempt.summary
    assert (attempt.engine and attempt.engine.engine, attempt.episode) == ("fake", None)


async def test_the_model_is_told_of_files_and_turns_and_not_shown_them(tmp_path: Path) -> None:
    _, model = await worked(tmp_path, call("list_files"), DONE, files={"input.csv": b"secret\n", "b.png": b"\x89PNG"})
    first, second = model.requests
    assert first.system == f"{SKILL.text.strip()}\n\n{SYSTEM}"
    assert first.messages[0].content == (
        "Count the lines.\n\nThe files:\n  b.png (4 bytes)\n  input.csv (7 bytes)\n"
        "You have 30 replies, the final answer among them."
    )
    assert [tool.name for tool in first.tools] == ["list_files", "read_file", "search_text", "run_python"]
    assert [answer.id for answer in second.messages[-1].answers] == ["c0"]


async def test_without_scripts_no_box_is_opened_and_nothing_is_left(tmp_path: Path) -> None:
    sandbox = FakeSandbox(playing, broken="no engine here")
    attempt, model = await worked(tmp_path, run("write x"), DONE, tools=ChatTools("files"), sandbox=sandbox)
    assert [tool.name for tool in model.requests[0].tools] == ["list_files", "read_file", "search_text"]
    assert told(model) == "there is no tool 'run_python'"
    assert (attempt.outcome, attempt.engine) == (Outcome.COMPLETED, None)
    assert attempt.workspace.files == {}
    assert "files changed" not in attempt.summary


async def test_the_files_are_those_that_the_last_script_left(tmp_path: Path) -> None:
    replies = (run("write a.txt"), run("delete input.csv"), call("list_files"), call("read_file", path="a.txt"), DONE)
    attempt, model = await worked(tmp_path, *replies)
    assert told(model, 2).endswith("files changed: delete input.csv")
    assert told(model, 3) == "a.txt (3 bytes)"
    assert told(model, 4).endswith(":\nnew")
    assert attempt.workspace.files == {"a.txt": b"new"}


SCRIPTS: Mapping[str, tuple[str, bool]] = {
    "fail\n  raise it": (
        "exit code 1\nhalf way\nstderr:\nTraceback (most recent call last):\n  "
        'File "<string>", line 2, in <module>\nValueError: no\nline 2 of the script: raise it',
        False,
    ),
    "confuse": (
        'exit code 1\nstderr:\nFile "<string>", line 3\nFile "<string>", line 0\nFile "<string>", line 999999',
        False,
    ),
    "late": (f"stopped: it ran for more than {SCRIPT_S:.0f} s", False),
    "hungry": ("stopped: it took more memory than the sandbox has", False),
    "print": ("exit code 0\nran print", True),
}


@pytest.mark.parametrize("word", list(SCRIPTS))
async def test_whatever_a_script_does_is_told_to_the_model(word: str, tmp_path: Path) -> None:
    attempt, model = await worked(tmp_path, run(word), DONE)
    assert (told(model), model.requests[1].messages[-1].answers[0].ok) == SCRIPTS[word]
    assert POLICIES[attempt.outcome].scored
    assert [event.ok for event in attempt.trace.events if isinstance(event, ToolCall)] == [SCRIPTS[word][1]]


async def test_what_a_script_prints_is_bounded_with_both_ends(tmp_path: Path) -> None:
    _, model = await worked(tmp_path, run("flood"), run("binary"), DONE)
    assert STDOUT_CHARS + STDERR_CHARS < len(told(model)) < STDOUT_CHARS + STDERR_CHARS + 300
    assert "left out" in told(model)
    told(model, 2).encode()


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"code": ""},
        {"code": 5},
        {"code": ["print"]},
        {"code": "x" * (SCRIPT_BYTES + 1)},
        {"code": "é" * (SCRIPT_BYTES // 2 + 1)},
        {"code": "print(1)\0"},
        {"script": "print"},
    ],
    ids=["none", "empty", "number", "list", "huge", "huge in bytes", "NUL", "other name"],
)
async def test_a_script_that_is_none_is_not_run(arguments: dict[str, Any], tmp_path: Path) -> None:
    sandbox = FakeSandbox(playing)
    attempt, model = await worked(tmp_path, call("run_python", **arguments), DONE, sandbox=sandbox)
    assert not model.requests[1].messages[-1].answers[0].ok
    assert told(model).startswith("code ")
    assert (attempt.outcome, sandbox.opened[0].commands) == (Outcome.COMPLETED, [])


async def test_a_script_gets_no_key_no_way_out_and_no_file(tmp_path: Path) -> None:
    sandbox = FakeSandbox(playing)
    await worked(tmp_path, run("one \ud800"), run("two"), DONE, sandbox=sandbox)
    (box,) = sandbox.opened
    assert (box.spec.gateway_socket, box.spec.role) == (None, "agent")
    assert [one.argv for one in box.commands] == [("python3", "-u", "-c", code) for code in ("one ?", "two")]
    assert not any(one.forward for one in box.commands)
    names = {"PATH", "LANG", "HOME", "TMPDIR", "PYTHONDONTWRITEBYTECODE", "PYTHONSAFEPATH"}
    assert set(box.commands[0].env) == names
    assert list(box.out.iterdir()) == []


@pytest.mark.parametrize(("word", "outcome"), [("lost", Outcome.SANDBOX_LOST), ("killed", Outcome.SANDBOX_KILLED)])
async def test_a_box_that_fails_on_the_way_is_no_score(word: str, outcome: Outcome, tmp_path: Path) -> None:
    attempt, _ = await worked(tmp_path, call("list_files"), run(word), DONE)
    assert (attempt.outcome, attempt.detail, attempt.usage.requests) == (outcome, f"it was {word}", 2)
    assert not POLICIES[outcome].scored


async def test_a_box_that_does_not_start_is_no_score_and_costs_nothing(tmp_path: Path) -> None:
    attempt, model = await worked(tmp_path, DONE, sandbox=FakeSandbox(playing, broken="no engine here"))
    assert (attempt.outcome, attempt.detail) == (Outcome.SANDBOX_START, "no engine here")
    assert model.requests == []
    given = assignment(tmp_path / "other", tools=ChatTools("python"))
    assert (await ChatHarness(model).run(given)).outcome is Outcome.SANDBOX_START


async def test_a_box_that_cannot_be_read_back_is_no_score(tmp_path: Path) -> None:
    def breaking(box: FakeBox, command: Command) -> FakeAnswer:
        async def collect(**_: Any) -> Any:
            raise SandboxError("the workspace cannot be read")

        box.collect = collect  # type: ignore[method-assign]
        return FakeAnswer()

    attempt, _ = await worked(tmp_path, run("x"), DONE, sandbox=FakeSandbox(breaking))
    assert (attempt.outcome, attempt.detail) == (Outcome.SANDBOX_LOST, "the workspace cannot be read")


@pytest.mark.parametrize(("turns", "most", "asked"), [(24, 50, 24), (30, 5, 5), (1, 50, 1)])
async def test_turns_are_bounded_and_the_last_one_is_announced(
    turns: int, most: int, asked: int, tmp_path: Path
) -> None:
    attempt, model = await worked(
        tmp_path, run("write out.csv"), tools=ChatTools("python", turns=turns), max_turns=most
    )
    assert (attempt.outcome, len(model.requests)) == (Outcome.AGENT_TURNS, asked)
    assert f"{asked} replies" in model.requests[0].messages[0].content
    heard = [number for number in range(1, asked) if LAST_WORD in told(model, number)]
    assert heard == ([asked - 1] if asked > 1 else [])
    assert attempt.workspace.files["out.csv"] == b"new", "what was saved by then counts"
    assert not any(LAST_WORD in one.output for one in attempt.trace.events if isinstance(one, ToolCall))


@pytest.mark.parametrize("caps", [Caps(requests=2), Caps(tokens=210), Caps(usd=0.02)])
async def test_caps_are_honoured(tmp_path: Path, caps: Caps) -> None:
    attempt, model = await worked(tmp_path, run("write out.csv"), caps=caps)
    assert (attempt.outcome, len(model.requests)) == (Outcome.AGENT_BUDGET, 2)
    assert attempt.workspace.files["out.csv"] == b"new"


STOPS = [
    (replace(DONE, text=""), Outcome.AGENT_EMPTY),
    (replace(DONE, stop="length"), Outcome.AGENT_OUTPUT_LIMIT),
    (replace(DONE, stop="refusal"), Outcome.AGENT_REFUSED),
    (ProviderError(ProviderFailure.CONTEXT_LENGTH, "too long"), Outcome.AGENT_CONTEXT),
    (ProviderError(ProviderFailure.OVERLOADED, "busy"), Outcome.OVERLOADED),
]


@pytest.mark.parametrize(("last", "outcome"), STOPS, ids=[str(outcome) for _, outcome in STOPS])
async def test_the_workspace_is_kept_however_the_conversation_ends(
    last: Said, outcome: Outcome, tmp_path: Path
) -> None:
    attempt, _ = await worked(tmp_path, run("write out.csv"), last)
    assert attempt.outcome is outcome
    assert attempt.workspace.files["out.csv"] == b"new"


async def hanging(box: FakeBox, command: Command) -> FakeAnswer:
    (box.workspace / "half.csv").write_text("half")
    await asyncio.sleep(600)
    return FakeAnswer()


async def test_a_script_still_running_at_the_deadline_is_stopped_and_scored(tmp_path: Path) -> None:
    for deadline_s in (0.5, *LONGER_S):
        attempt, _ = await worked(
            tmp_path / f"{deadline_s}", run("x"), sandbox=FakeSandbox(hanging), deadline_s=deadline_s
        )
        if attempt.workspace.files:
            break  # it was running before the deadline came
    assert attempt.outcome is Outcome.AGENT_DEADLINE
    assert attempt.workspace.files["half.csv"] == b"half"


async def test_cancelling_goes_through(tmp_path: Path) -> None:
    working = asyncio.create_task(worked(tmp_path, run("x"), sandbox=FakeSandbox(hanging)))
    await asyncio.sleep(0.2)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


async def test_the_task_s_own_limits_and_image_are_its_box_s(tmp_path: Path) -> None:
    sandbox = FakeSandbox(playing)
    limits = Limits(pids=7)
    await worked(tmp_path, DONE, sandbox=sandbox, limits=lambda _: limits)
    assert sandbox.opened[0].spec.limits is limits


async def test_a_host_that_fails_is_no_score_and_stops_no_run(tmp_path: Path) -> None:
    def breaking(box: FakeBox, command: Command) -> FakeAnswer:
        raise PermissionError(13, "Permission denied")

    attempt, _ = await worked(tmp_path, run("x"), DONE, sandbox=FakeSandbox(breaking))
    assert (attempt.outcome, "Permission denied" in attempt.detail) == (Outcome.SANDBOX_LOST, True)
    assert not POLICIES[attempt.outcome].stop_run


async def test_a_fault_of_our_own_is_told_and_no_score(tmp_path: Path) -> None:
    class Broken(FakeSandbox):
        async def facts(self) -> Any:
            raise RuntimeError("bug")

    attempt, _ = await worked(tmp_path, DONE, sandbox=Broken(playing))
    assert (attempt.outcome, "RuntimeError" in attempt.detail) == (Outcome.BAD_REQUEST, True)
