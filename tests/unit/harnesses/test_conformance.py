"""What every harness keeps, real or fake: the real ones run over fake sandboxes, gateways and models here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from harnesses.chat import ChatHarness
from harnesses.claude_code import ClaudeCodeHarness
from harnesses.codex import CodexHarness
from harnesses.fake import FakeHarness, FakeResult
from harnesses.harness import Harness
from harnesses.outcome import POLICIES, Outcome
from harnesses.traces.summary import file_name
from sandboxes.fake import FakeAnswer
from sandboxes.gateway.policy import ProviderError, ProviderFailure, Tally
from tests.support.golden import CLAUDE, CODEX
from tests.support.harnesses import assignment, faked
from tests.support.waiting import PATIENCE_S
from tests.unit.harnesses.test_chat import Client
from tests.unit.harnesses.test_cli_harness import plays

Make = Callable[[Path], Harness]
DOWN = Tally(failures=(ProviderFailure.OVERLOADED,), last_failure="anthropic at host: busy", last_request_failed=True)


async def waits(*_: object) -> FakeAnswer:
    await asyncio.sleep(30)
    return FakeAnswer()


async def waits_too(_: object) -> FakeResult:
    await asyncio.sleep(30)
    return FakeResult()


WORKING: dict[str, Make] = {
    "fake": lambda folder: FakeHarness(lambda given: "Done"),
    "chat": lambda folder: ChatHarness(Client("Done")),
    "codex": lambda folder: faked(CodexHarness, folder, plays(CodexHarness))[0],
    "claude-code": lambda folder: faked(ClaudeCodeHarness, folder, plays(ClaudeCodeHarness))[0],
}
OVERLOADED: dict[str, Make] = {
    "fake": lambda folder: FakeHarness(lambda given: FakeResult(outcome=Outcome.OVERLOADED, detail="busy")),
    "chat": lambda folder: ChatHarness(Client(error=ProviderError(ProviderFailure.OVERLOADED, "busy"))),
    "codex": lambda folder: faked(CodexHarness, folder, plays(CodexHarness, "500_noretry"), tally=DOWN)[0],
    "claude-code": lambda folder: faked(ClaudeCodeHarness, folder, plays(ClaudeCodeHarness, "529_r0"), tally=DOWN)[0],
}
WAITING: dict[str, Make] = {
    "fake": lambda folder: FakeHarness(waits_too),
    "chat": lambda folder: ChatHarness(Client(delay_s=30)),
    "codex": lambda folder: faked(CodexHarness, folder, waits)[0],
    "claude-code": lambda folder: faked(ClaudeCodeHarness, folder, waits)[0],
}
EACH = pytest.mark.parametrize("name", sorted(WORKING))


def test_the_recordings_stand() -> None:
    assert (CODEX / "500_noretry").is_dir()
    assert (CLAUDE / "529_r0").is_dir()


@EACH
async def test_a_completed_attempt(name: str, tmp_path: Path) -> None:
    harness, given = WORKING[name](tmp_path), assignment(tmp_path, attempt_id="a-77")
    attempt = await harness.run(given)
    assert attempt.attempt_id == "a-77"
    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert attempt.trace.final_answer == "Done"
    assert attempt.trace.finished
    assert attempt.trace.skill_opened
    assert attempt.usage.requests > 0
    assert attempt.wall_s > 0
    assert attempt.summary.startswith("outcome: completed")
    assert (given.folder / file_name(harness.name)).read_text() == attempt.summary


@EACH
async def test_a_failing_provider_is_data_and_no_score(name: str, tmp_path: Path) -> None:
    attempt = await OVERLOADED[name](tmp_path).run(assignment(tmp_path))
    assert attempt.outcome is Outcome.OVERLOADED
    assert not POLICIES[attempt.outcome].scored
    assert "busy" in attempt.detail
    assert not attempt.trace.finished


@EACH
async def test_cancelling_goes_through_at_once(name: str, tmp_path: Path) -> None:
    task = asyncio.create_task(WAITING[name](tmp_path).run(assignment(tmp_path, deadline_s=1_000.0)))
    await asyncio.sleep(0.2)
    task.cancel()
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(asyncio.CancelledError):
            await task


@EACH
async def test_runs_side_by_side_do_not_mix(name: str, tmp_path: Path) -> None:
    harness = WORKING[name](tmp_path)
    given = [assignment(tmp_path / str(number), attempt_id=f"a-{number}") for number in range(4)]
    attempts = await asyncio.gather(*map(harness.run, given))
    assert [attempt.attempt_id for attempt in attempts] == [each.attempt_id for each in given]
    assert {attempt.outcome for attempt in attempts} == {Outcome.COMPLETED}


@EACH
def test_settings_are_plain_and_stable(name: str, tmp_path: Path) -> None:
    harness = WORKING[name](tmp_path)
    settings = harness.settings()
    assert settings == harness.settings()
    assert "model" in settings
    assert all(isinstance(part, str) for pair in settings.items() for part in pair)
