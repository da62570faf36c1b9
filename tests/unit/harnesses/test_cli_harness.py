"""The way of one attempt, with a fake sandbox and a fake gateway; the CLI is played by recorded streams."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harnesses.claude_code import ClaudeCodeHarness
from harnesses.cli_harness import CliHarness
from harnesses.codex import CodexHarness
from harnesses.harness import Harness
from harnesses.outcome import Outcome
from sandboxes.fake import FakeAnswer, FakeBox, Script
from sandboxes.gateway.policy import Caps, Tally, Usage
from sandboxes.sandbox import Command, Ending
from tests.support.agents import REAL_KEY
from tests.support.golden import CLAUDE, CODEX, case
from tests.support.harnesses import SKILL, USED, assignment, faked

KINDS: list[type[CliHarness]] = [CodexHarness, ClaudeCodeHarness]
GOLDEN = {CodexHarness: (CODEX, "rollout_explicit", "codex"), ClaudeCodeHarness: (CLAUDE, "session_explicit", "claude")}
OPENED = b"Count the lines with wc."


def plays(kind: type[CliHarness], name: str = "", **changes: Any) -> Script:
    """A script that prints a recorded stream and leaves its session files."""
    folder, usual, _ = GOLDEN[kind]
    recorded = case(folder, name or usual)

    def script(box: FakeBox, command: Command) -> FakeAnswer:
        for path, data in recorded.out.items():
            (box.out / path).parent.mkdir(parents=True, exist_ok=True)
            (box.out / path).write_bytes(data)
        (box.workspace / "answer.txt").write_text("2\n")
        given = FakeAnswer(recorded.stdout, recorded.stderr.encode(), recorded.exit_code)
        return replace(given, **changes)

    return script


@pytest.mark.parametrize("kind", KINDS)
async def test_a_whole_attempt(kind: type[CliHarness], tmp_path: Path) -> None:
    harness, sandbox, gateway = faked(kind, tmp_path, plays(kind))
    given = assignment(tmp_path, provider_tools=frozenset({"web_search"}))
    attempt = await harness.run(given)

    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert attempt.trace.final_answer == "Done"
    assert (attempt.trace.skill_listed, attempt.trace.skill_opened) == (True, True)
    assert attempt.workspace.files["answer.txt"] == b"2\n"
    assert attempt.usage == USED.usage
    assert attempt.versions == {GOLDEN[kind][2]: "1.2.3"}
    assert attempt.engine is not None
    assert attempt.engine.engine == "fake"
    assert (given.folder / f"{GOLDEN[kind][2]}_trace_summary.txt").read_text() == attempt.summary
    (door,) = gateway.doors
    assert door.closed
    assert door.policy.provider_tools == {"web_search"}
    (box,) = sandbox.opened
    assert box.spec.gateway_socket == door.socket
    assert [mount.target for mount in box.spec.mounts] == [f"/opt/agents/{GOLDEN[kind][2]}"]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_command(kind: type[CliHarness], tmp_path: Path) -> None:
    harness, sandbox, gateway = faked(kind, tmp_path, plays(kind))
    await harness.run(assignment(tmp_path, prompt="--help\nreally", activation="explicit"))
    (box,), (door,) = sandbox.opened, gateway.doors
    (command,) = box.commands
    layout = box.layout
    assert command.argv[:2] == ("/bin/sh", "-c")
    assert not [word for word in command.argv if "really" in word], "the prompt is never in the argument list"
    sigil = "$" if kind is CodexHarness else "/"
    assert (box.out / "prompt.txt").read_text() == f"{sigil}answer-writer\n--help\nreally"
    assert command.deadline_s == 5.0
    for name in ("HOME", "TMPDIR"):
        assert command.env[name].startswith(str(tmp_path))
    home = command.env["CODEX_HOME" if kind is CodexHarness else "CLAUDE_CONFIG_DIR"]
    assert Path(home).parent == Path(layout.out)
    assert door.token in command.env.values()
    assert REAL_KEY not in repr(command) + repr(box.spec)
    assert set(command.env) & {"PATH", "LANG"} == {"PATH", "LANG"}


async def test_codex_command_line(tmp_path: Path) -> None:
    harness, sandbox, _ = faked(CodexHarness, tmp_path, plays(CodexHarness))
    foreign = {".agents/skills/other/SKILL.md": b"x", '.codex/skills/q"x/SKILL.md': b"x"}
    await harness.run(assignment(tmp_path, files=foreign))
    (box,) = sandbox.opened
    (command,) = box.commands
    argv = command.argv[command.argv.index(f"{box.layout.tools}/codex/codex") :]
    assert argv[1:5] == ("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
    assert argv[-1] == "-"
    assert command.forward
    settings = [argv[index + 1] for index, word in enumerate(argv) if word == "-c"]
    assert 'web_search="disabled"' in settings
    assert {"project_doc_max_bytes=0", "project_root_markers=[]"} <= set(settings)
    provider = next(text for text in settings if text.startswith("model_providers.honed="))
    assert f'base_url="{box.layout.model_url}/v1"' in provider
    assert "request_max_retries=0,stream_max_retries=0" in provider
    off = next(text for text in settings if text.startswith("skills.config="))
    assert f'path="{box.layout.workspace}/.agents/skills/other/SKILL.md",enabled=false' in off
    assert '.codex/skills/q\\"x/SKILL.md' in off


async def test_claude_command_line(tmp_path: Path) -> None:
    harness, sandbox, gateway = faked(ClaudeCodeHarness, tmp_path, plays(ClaudeCodeHarness))
    await harness.run(assignment(tmp_path, max_turns=7))
    (box,), (door,) = sandbox.opened, gateway.doors
    (command,) = box.commands
    argv = command.argv
    assert argv[argv.index("--setting-sources") + 1] == "user"
    assert argv[argv.index("--max-turns") + 1] == "7"
    assert argv[argv.index("--tools") + 1] == "Bash,Read,Write,Edit,Skill"
    assert "--strict-mcp-config" in argv
    assert not command.forward
    assert command.env["ANTHROPIC_UNIX_SOCKET"] == str(door.socket)
    assert command.env["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert (box.out / "claude/skills/answer-writer/SKILL.md").read_bytes() == SKILL.files["SKILL.md"]
    assert not (box.workspace / ".claude").exists()


async def test_codex_turn_limit_is_the_doors_request_cap(tmp_path: Path) -> None:
    tally = replace(USED, refusals=("cap: requests",))
    script = plays(CodexHarness, "budget2")
    harness, _, gateway = faked(CodexHarness, tmp_path, script, tally=tally, caps=Caps(requests=20))
    within = await harness.run(assignment(tmp_path, max_turns=9, skill=None))
    beyond = await harness.run(assignment(tmp_path, max_turns=50, skill=None))
    assert [door.policy.caps.requests for door in gateway.doors] == [9, 20]
    assert [within.outcome, beyond.outcome] == [Outcome.AGENT_TURNS, Outcome.AGENT_BUDGET]


async def test_claude_turn_limit_is_its_own(tmp_path: Path) -> None:
    harness, _, gateway = faked(ClaudeCodeHarness, tmp_path, plays(ClaudeCodeHarness, "max_turns"))
    attempt = await harness.run(assignment(tmp_path, max_turns=2, skill=None))
    assert attempt.outcome is Outcome.AGENT_TURNS
    assert gateway.doors[0].policy.caps.requests == Caps().requests


@pytest.mark.parametrize(
    ("kind", "name", "changes", "outcome"),
    [
        (CodexHarness, "empty_text", {}, Outcome.AGENT_EMPTY),
        (CodexHarness, "refusal", {}, Outcome.AGENT_EMPTY),
        (CodexHarness, "incomplete_max", {}, Outcome.AGENT_OUTPUT_LIMIT),
        (CodexHarness, "400_ctx", {}, Outcome.AGENT_CONTEXT),
        (CodexHarness, "badflag", {}, Outcome.CLI_CRASHED),
        (CodexHarness, "nohome", {}, Outcome.CLI_CRASHED),
        (CodexHarness, "plain_output", {}, Outcome.CLI_PROTOCOL),
        (CodexHarness, "kill_term", {"ending": Ending.DEADLINE}, Outcome.AGENT_DEADLINE),
        (CodexHarness, "kill_term", {"ending": Ending.KILLED}, Outcome.SANDBOX_KILLED),
        (CodexHarness, "success", {"ending": Ending.LOST}, Outcome.SANDBOX_LOST),
        (CodexHarness, "success", {"ending": Ending.OUT_OF_MEMORY}, Outcome.OUT_OF_MEMORY),
        (CodexHarness, "success", {"stdout": b"", "exit_code": 127}, Outcome.CLI_MISSING),
        (ClaudeCodeHarness, "refusal", {}, Outcome.AGENT_REFUSED),
        (ClaudeCodeHarness, "max_tokens", {}, Outcome.AGENT_OUTPUT_LIMIT),
        (ClaudeCodeHarness, "sig_int_cmd", {}, Outcome.AGENT_ENDED_CLI),
        (ClaudeCodeHarness, "root_refused", {}, Outcome.CLI_CRASHED),
        (ClaudeCodeHarness, "session_background", {}, Outcome.COMPLETED),
        (ClaudeCodeHarness, "session_background", {"ending": Ending.DEADLINE}, Outcome.COMPLETED),
    ],
)
async def test_recorded_endings(
    kind: type[CliHarness], name: str, changes: dict[str, Any], outcome: Outcome, tmp_path: Path
) -> None:
    harness, _, _ = faked(kind, tmp_path, plays(kind, name, **changes))
    attempt = await harness.run(assignment(tmp_path, skill=None))
    assert attempt.outcome is outcome, attempt.detail
    assert outcome.value in attempt.summary


@pytest.mark.parametrize(
    ("kind", "name", "activation", "outcome"),
    [
        (CodexHarness, "rollout_unlisted", "discovered", Outcome.SKILL_NOT_VISIBLE),
        (CodexHarness, "rollout_discovered", "discovered", Outcome.COMPLETED),
        (CodexHarness, "rollout_unlisted", "explicit", Outcome.SKILL_NOT_VISIBLE),
        (ClaudeCodeHarness, "session_unlisted", "discovered", Outcome.SKILL_NOT_VISIBLE),
        (ClaudeCodeHarness, "session_unlisted", "explicit", Outcome.SKILL_NOT_VISIBLE),
        (ClaudeCodeHarness, "session_explicit", "explicit", Outcome.COMPLETED),
    ],
)
async def test_a_skill_that_was_not_visible_makes_the_attempt_invalid(
    kind: type[CliHarness], name: str, activation: Any, outcome: Outcome, tmp_path: Path
) -> None:
    harness, _, _ = faked(kind, tmp_path, plays(kind, name))
    attempt = await harness.run(assignment(tmp_path, activation=activation))
    assert attempt.outcome is outcome, attempt.detail


async def test_codex_failed_calls_come_from_the_rollout(tmp_path: Path) -> None:
    harness, _, _ = faked(CodexHarness, tmp_path, plays(CodexHarness))
    attempt = await harness.run(assignment(tmp_path))
    assert "apply_patch verification failed: Failed to read file to update" in attempt.summary
    story = [
        attempt.summary.index(text) for text in ("wc -l < input.csv", "apply_patch [FAILED]", "said the final answer")
    ]
    assert story == sorted(story)
    assert attempt.trace.turns == 5
    assert attempt.trace.model == "gpt-5.5"


@pytest.mark.parametrize("kind", KINDS)
async def test_session_files_that_are_gone_leave_what_stdout_tells(kind: type[CliHarness], tmp_path: Path) -> None:
    folder, name, _ = GOLDEN[kind]
    stdout = case(folder, name).stdout
    harness, _, _ = faked(kind, tmp_path, lambda box, command: FakeAnswer(stdout))
    attempt = await harness.run(assignment(tmp_path, activation="discovered"))
    listed = kind is ClaudeCodeHarness
    assert attempt.trace.skill_listed is (True if listed else None)
    assert attempt.outcome is (Outcome.COMPLETED if listed else Outcome.SKILL_NOT_VISIBLE)
    assert attempt.trace.turns == 2 == USED.usage.requests


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("activation", ["explicit", "discovered"])
async def test_an_agent_that_deletes_its_session_files_takes_no_attempt_back(
    kind: type[CliHarness], activation: Any, tmp_path: Path
) -> None:
    """The door saw the skill go by: that lies where no agent can reach it."""
    folder, name, _ = GOLDEN[kind]
    stdout = case(folder, name).stdout
    shown = OPENED.decode() if activation == "explicit" else "- answer-writer: Use."
    tally = replace(USED, seen=frozenset({shown}))
    harness, _, gateway = faked(kind, tmp_path, lambda box, command: FakeAnswer(stdout), tally=tally)
    attempt = await harness.run(assignment(tmp_path, activation=activation))
    assert attempt.outcome is Outcome.COMPLETED, attempt.detail
    assert gateway.doors[0].policy.marks == {OPENED.decode(), "- answer-writer: Use."}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_list_with_the_skill_is_no_skill_that_was_handed_over(kind: type[CliHarness], tmp_path: Path) -> None:
    unlisted = "rollout_unlisted" if kind is CodexHarness else "session_unlisted"
    tally = replace(USED, seen=frozenset({"- answer-writer: Use."}))
    harness, _, _ = faked(kind, tmp_path, plays(kind, unlisted), tally=tally)
    assert (await harness.run(assignment(tmp_path, activation="explicit"))).outcome is Outcome.SKILL_NOT_VISIBLE


async def test_links_left_in_the_out_room_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes(next(iter(case(CODEX, "rollout_explicit").out.values())))

    def script(box: FakeBox, command: Command) -> FakeAnswer:
        place = box.out / "codex/sessions/2026/01/01"
        place.mkdir(parents=True)
        (place / "rollout-x.jsonl").symlink_to(secret)
        return FakeAnswer(case(CODEX, "rollout_explicit").stdout)

    harness, _, _ = faked(CodexHarness, tmp_path, script)
    assert (await harness.run(assignment(tmp_path))).outcome is Outcome.SKILL_NOT_VISIBLE


@pytest.mark.parametrize("kind", KINDS)
async def test_failures_before_the_run(kind: type[CliHarness], tmp_path: Path) -> None:
    harness, _, gateway = faked(kind, tmp_path, plays(kind), broken="no engine: run `honed doctor`")
    attempt = await harness.run(assignment(tmp_path))
    assert (attempt.outcome, attempt.detail) == (Outcome.SANDBOX_START, "no engine: run `honed doctor`")
    assert not gateway.doors

    hidden = await harness.run(assignment(tmp_path, files={"SKILL.md": b"x"}))
    assert hidden.outcome is Outcome.SKILL_NOT_VISIBLE
    assert "rename it in the task" in hidden.detail

    shutil.rmtree(tmp_path / "cli")
    missing = await harness.run(assignment(tmp_path))
    assert missing.outcome is Outcome.CLI_MISSING
    assert "is missing" in missing.detail


async def test_a_path_that_leaves_the_workspace_does_not_start(tmp_path: Path) -> None:
    harness, sandbox, gateway = faked(CodexHarness, tmp_path, plays(CodexHarness))
    attempt = await harness.run(assignment(tmp_path, files={"../evil": b"x"}))
    assert attempt.outcome is Outcome.SANDBOX_START
    assert gateway.doors[0].closed
    assert not sandbox.opened[0].commands


async def test_a_fault_of_our_own_is_told_and_never_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    harness, _, gateway = faked(CodexHarness, tmp_path, plays(CodexHarness))

    def explode(*_: object) -> None:
        raise RuntimeError("parser bug")

    monkeypatch.setattr(harness, "read", explode)
    attempt = await harness.run(assignment(tmp_path))
    assert attempt.outcome is Outcome.CLI_PROTOCOL
    assert "RuntimeError" in attempt.detail
    assert attempt.usage == USED.usage, "what was spent is still counted"
    assert gateway.doors[0].closed
    assert "parser bug" in capsys.readouterr().out


async def test_cancelling_goes_through_and_closes_the_door(tmp_path: Path) -> None:
    began = asyncio.Event()

    async def script(box: FakeBox, command: Command) -> FakeAnswer:
        began.set()
        await asyncio.sleep(60)
        return FakeAnswer()

    harness, _, gateway = faked(CodexHarness, tmp_path, script)
    task = asyncio.create_task(harness.run(assignment(tmp_path, deadline_s=60.0)))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert gateway.doors[0].closed


async def test_silence_is_seen_while_the_command_still_runs(tmp_path: Path) -> None:
    async def script(box: FakeBox, command: Command) -> FakeAnswer:
        await asyncio.sleep(60)
        return FakeAnswer()

    harness, _, _ = faked(CodexHarness, tmp_path, script, tally=Tally(Usage(1, 10, 0, 1), waiting_s=30.0))
    attempt = await harness.run(assignment(tmp_path, deadline_s=0.3))
    assert attempt.outcome is Outcome.UNREACHABLE
    assert "silent for 30 s" in attempt.detail


@pytest.mark.parametrize("kind", KINDS)
def test_settings_are_what_decides_the_result(kind: type[CliHarness], tmp_path: Path) -> None:
    harness: Harness = faked(kind, tmp_path, plays(kind))[0]
    settings = harness.settings()
    assert settings["harness"] == harness.name
    assert settings["cli_version"] == "1.2.3"
    assert settings["activation"] == "explicit"
    assert REAL_KEY not in json.dumps(dict(settings))
    assert settings["host"] == "127.0.0.1", "the same model name elsewhere is another model; a port is not"
