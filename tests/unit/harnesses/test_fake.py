from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harnesses.fake import FakeHarness, FakeResult
from harnesses.harness import Assignment, Harness
from harnesses.outcome import POLICIES, Outcome
from tests.support.harnesses import assignment


async def test_a_function_of_the_test_decides(tmp_path: Path) -> None:
    def behaviour(given: Assignment) -> FakeResult | str:
        if given.skill and "wc" in given.skill.text:
            return FakeResult("2", files={"answer.txt": b"2\n"})
        return "no idea"

    harness = FakeHarness(behaviour, name="codex")
    attempt = await harness.run(assignment(tmp_path))
    assert (attempt.outcome, attempt.trace.final_answer) == (Outcome.COMPLETED, "2")
    assert dict(attempt.workspace.files) == {"answer.txt": b"2\n", "input.csv": b"a\nb\n"}
    assert attempt.trace.finished
    assert attempt.trace.skill_opened
    assert (tmp_path / "attempt/codex_trace_summary.txt").read_text() == attempt.summary
    bare = await harness.run(assignment(tmp_path, skill=None))
    assert (bare.trace.final_answer, bare.trace.skill_opened) == ("no idea", False)
    assert [given.task_id for given in harness.assignments] == ["t-1", "t-1"]


async def test_async_behaviour_and_failures(tmp_path: Path) -> None:
    async def behaviour(given: Assignment) -> FakeResult:
        await asyncio.sleep(0)
        return FakeResult("never shown", outcome=Outcome.RATE_LIMIT, detail="slow down")

    attempt = await FakeHarness(behaviour).run(assignment(tmp_path))
    assert (attempt.outcome, attempt.detail, attempt.trace.final_answer) == (Outcome.RATE_LIMIT, "slow down", "")
    assert not attempt.trace.finished


async def test_a_fault_of_the_test_goes_through(tmp_path: Path) -> None:
    def behaviour(given: Assignment) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await FakeHarness(behaviour).run(assignment(tmp_path))


def test_it_is_a_harness() -> None:
    harness: Harness = FakeHarness(lambda given: "x", settings={"harness": "chat", "model": "b"})
    assert harness.settings() == {"harness": "chat", "model": "b"}


def test_every_outcome_has_a_policy_with_a_remedy_where_something_is_wrong() -> None:
    assert set(POLICIES) == set(Outcome)
    for outcome, policy in POLICIES.items():
        assert policy.scored == (outcome is Outcome.COMPLETED or outcome.value.startswith("agent_")), outcome
        assert bool(policy.remedy) != policy.scored, outcome
        assert not (policy.scored and (policy.retry or policy.stop_run)), outcome
