"""A run of an agent that goes on in an earlier workspace: what is laid anew, what is told, what a setup may do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harnesses.chat import ChatHarness
from harnesses.claude_code import ClaudeCodeHarness
from harnesses.cli_harness import CliHarness
from harnesses.codex import CodexHarness
from harnesses.harness import Assignment, Attempt, Before
from harnesses.models.fake import ScriptedModel
from harnesses.outcome import POLICIES, Outcome
from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.sandbox import Collected, Command, Ending
from tests.support.harnesses import SKILL, assignment, faked

KINDS: list[type[CliHarness]] = [CodexHarness, ClaudeCodeHarness]
OWN = f".agents/skills/{SKILL.name}"


class Agent:
    """Plays the setup script and the CLI; notes what it found."""

    def __init__(self, setup: FakeAnswer | None = None) -> None:
        self.setup = setup or FakeAnswer()
        self.found: list[tuple[str, dict[str, bytes]]] = []

    async def __call__(self, box: FakeBox, command: Command) -> FakeAnswer:
        setup = command.argv[0] == "bash"
        self.found.append(("setup" if setup else "cli", dict((await box.collect()).files)))
        if setup:
            (box.workspace / "SKILL.md").write_text("forged by a script")
            (box.workspace / "setup.sh").unlink()
            return self.setup
        (box.workspace / "work.txt").write_text("work")
        (box.workspace / "SKILL.md").write_text("forged")
        forged = box.workspace / ".agents" / "skills"
        for name in (SKILL.name, "mine"):
            (forged / name / "more").mkdir(parents=True, exist_ok=True)
            (forged / name / "SKILL.md").write_text("---\nname: x\n---\nforged")
            (forged / name / "more" / "x.md").write_text("forged")
        return FakeAnswer(b"{}\n")


async def both(
    kind: type[CliHarness], tmp_path: Path, agent: Agent, **fields: object
) -> tuple[Attempt, Attempt, FakeSandbox]:
    harness, sandbox, _ = faked(kind, tmp_path, agent)
    first = assignment(tmp_path, files={"in.csv": b"1\n"})
    one = await harness.run(first)
    next_folder = tmp_path / "next"
    next_folder.mkdir()
    second: Assignment = replace(first, folder=next_folder, before=Before(first.folder, one.workspace), **fields)  # type: ignore[arg-type]
    return one, await harness.run(second), sandbox


@pytest.mark.parametrize("kind", KINDS)
async def test_the_skill_is_laid_anew_and_the_work_is_still_there(kind: type[CliHarness], tmp_path: Path) -> None:
    agent = Agent()
    _, two, sandbox = await both(kind, tmp_path, agent, files={"late.csv": b"2\n"})
    (_, first), (_, second) = agent.found
    assert first["SKILL.md"] == second["SKILL.md"] == SKILL.files["SKILL.md"]
    assert (second["in.csv"], second["late.csv"], second["work.txt"]) == (b"1\n", b"2\n", b"work")
    if kind is CodexHarness:
        assert {path for path in second if path.startswith(OWN)} == {f"{OWN}/{path}" for path in SKILL.files}
    command = " ".join(sandbox.opened[1].commands[0].argv)
    assert (".agents/skills/mine/SKILL.md" in command) == (kind is CodexHarness), "switched off, as a task's would be"
    assert f"{OWN}/SKILL.md" not in command
    assert "in.csv" not in two.summary.partition("Files")[2]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_setup_script_sees_the_files_and_cannot_touch_the_skill(kind: type[CliHarness], tmp_path: Path) -> None:
    agent = Agent()
    files = {"setup.sh": b"#!/bin/bash\n", "late.csv": b"2\n"}
    _, _, sandbox = await both(kind, tmp_path, agent, files=files, setup="setup.sh", deadline_s=7.0)
    (_, _), (what, seen), (cli, second) = agent.found
    assert (what, cli) == ("setup", "cli")
    assert seen["setup.sh"] == b"#!/bin/bash\n"
    assert second["SKILL.md"] == SKILL.files["SKILL.md"]
    assert "setup.sh" not in second, "a script that removes itself is not laid again"
    command, _ = sandbox.opened[1].commands
    assert (command.argv, command.deadline_s, command.forward) == (
        ("bash", "--noprofile", "--norc", "setup.sh"),
        7.0,
        False,
    )
    assert sorted(command.env) == ["HOME", "LANG", "PATH", "TMPDIR"]


@pytest.mark.parametrize(
    ("setup", "detail"),
    [
        (FakeAnswer(stderr=b"no\nfile", exit_code=3), "setup.sh ended with exit code 3: no file"),
        (FakeAnswer(ending=Ending.DEADLINE, detail="7 s"), "setup.sh ended by deadline 7 s"),
        (FakeAnswer(ending=Ending.OUT_OF_MEMORY), "setup.sh ended by out_of_memory"),
    ],
)
async def test_a_setup_that_fails_is_no_score_and_no_agent_runs(setup: FakeAnswer, detail: str, tmp_path: Path) -> None:
    agent = Agent(setup)
    _, two, sandbox = await both(CodexHarness, tmp_path, agent, files={"setup.sh": b"x"}, setup="setup.sh")
    assert (two.outcome, two.detail) == (Outcome.SETUP_FAILED, detail)
    assert not POLICIES[two.outcome].scored
    assert not POLICIES[two.outcome].retry
    assert len(sandbox.opened[1].commands) == 1


async def test_a_chat_model_is_shown_what_it_was_given_and_runs_no_script(tmp_path: Path) -> None:
    client = ScriptedModel(lambda _: "fine")
    given = assignment(tmp_path, files={"late.csv": b"two"})
    given = replace(given, before=Before(tmp_path, Collected({"in.csv": b"one"})))
    await ChatHarness(client).run(given)
    (message,) = client.requests[0].messages
    assert "one" in message.content
    assert "two" in message.content
    refused = await ChatHarness(client).run(replace(given, setup="setup.sh"))
    assert refused.outcome is Outcome.SETUP_FAILED
    assert len(client.requests) == 1
