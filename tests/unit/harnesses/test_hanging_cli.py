"""CLIs that hang, through a whole attempt: told apart from agents at work, and long before the deadline."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from harnesses.claude_code import ClaudeCodeHarness
from harnesses.cli_harness import CliHarness
from harnesses.codex import CodexHarness
from harnesses.harness import Attempt
from harnesses.outcome import POLICIES, Outcome
from harnesses.vigil import Patience
from sandboxes.fake import FakeAnswer, FakeBox
from sandboxes.gateway.policy import Tally
from sandboxes.sandbox import Command
from tests.support.golden import CLAUDE, CODEX, case
from tests.support.harnesses import assignment, faked

KINDS: list[type[CliHarness]] = [CodexHarness, ClaudeCodeHarness]
GOLDEN = {CodexHarness: (CODEX, "rollout_explicit"), ClaudeCodeHarness: (CLAUDE, "session_explicit")}
LONG_S = 120.0


async def attempt(kind: type[CliHarness], folder: Path, stdout: bytes, patience: Patience, **given: object) -> Attempt:
    """A CLI that prints this, leaves a session file if told to, and then stays for ever."""
    left = case(*GOLDEN[kind]).out if given.pop("session", False) else {}

    async def script(box: FakeBox, command: Command) -> FakeAnswer:
        for path, data in left.items():
            (box.out / path).parent.mkdir(parents=True, exist_ok=True)
            (box.out / path).write_bytes(data)
        box.say(stdout)
        await asyncio.Event().wait()
        raise AssertionError("it never ends by itself")

    tally = {"tally": given.pop("tally")} if "tally" in given else {}
    harness, _, _ = faked(kind, folder, script, **tally)  # type: ignore[arg-type]
    harness._settings = replace(harness._settings, patience=patience)
    return await harness.run(assignment(folder, **{"deadline_s": LONG_S, **given}))


@pytest.mark.parametrize("kind", KINDS)
async def test_one_that_does_not_exit_after_its_result_is_complete(kind: type[CliHarness], tmp_path: Path) -> None:
    done = await attempt(kind, tmp_path, case(*GOLDEN[kind]).stdout, Patience(exit_s=0.2), session=True)
    assert done.outcome is Outcome.COMPLETED, done.detail
    assert done.trace.final_answer == "Done"
    assert "did not exit" in done.detail
    assert done.wall_s < LONG_S / 2


@pytest.mark.parametrize("kind", KINDS)
async def test_one_that_never_says_anything_is_a_failure_of_ours(kind: type[CliHarness], tmp_path: Path) -> None:
    done = await attempt(kind, tmp_path, b"", Patience(idle_s=0.2, exit_s=0.1), tally=Tally())
    assert done.outcome is Outcome.CLI_HUNG
    assert POLICIES[done.outcome].retry
    assert not POLICIES[done.outcome].scored
    assert "[target] idle_s" in done.detail
    assert done.wall_s < LONG_S / 2


async def test_one_that_stops_in_the_middle_without_a_call_is_a_failure_of_ours(tmp_path: Path) -> None:
    stdout = b"".join(line + b"\n" for line in case(CODEX, "rollout_explicit").stdout.splitlines()[:2])
    done = await attempt(CodexHarness, tmp_path, stdout, Patience(idle_s=0.2, exit_s=0.1))
    assert done.outcome is Outcome.CLI_HUNG, done.detail


async def test_a_command_that_hangs_is_the_agents_own(tmp_path: Path) -> None:
    call = {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "command": "sleep 500"}}
    stdout = (
        json.dumps({"type": "thread.started", "thread_id": "t"}).encode() + b"\n" + json.dumps(call).encode() + b"\n"
    )
    patience = Patience(idle_s=0.2, exit_s=0.1)
    done = await attempt(CodexHarness, tmp_path, stdout, patience, session=True, deadline_s=2.0)
    assert done.outcome is Outcome.AGENT_DEADLINE, done.detail
