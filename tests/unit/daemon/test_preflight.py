"""A canary that fails ends the verb in one line; one that works records nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from daemon.preflight import check_optimizer, check_target, impatient
from daemon.rollouts.stop import RunStopped
from harnesses.fake import FakeHarness, FakeResult
from harnesses.models.client import ModelReply, ModelRequest
from harnesses.models.fake import ScriptedModel
from harnesses.outcome import POLICIES, Outcome
from sandboxes.gateway.policy import ProviderError, ProviderFailure, Upstream

SCORED = [outcome for outcome in Outcome if POLICIES[outcome].scored]
INVALID = [outcome for outcome in Outcome if not POLICIES[outcome].scored]


def harness(outcome: Outcome) -> FakeHarness:
    return FakeHarness(lambda _: FakeResult(answer="OK", outcome=outcome, detail="openai at host: 401"))


@pytest.mark.parametrize("outcome", SCORED)
async def test_an_agent_that_ran_is_enough(outcome: Outcome, tmp_path: Path) -> None:
    agent = harness(outcome)
    await check_target(agent, tmp_path)
    assert [one.skill for one in agent.assignments] == [None]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("outcome", INVALID)
async def test_any_failure_of_ours_stops_with_its_remedy(outcome: Outcome, tmp_path: Path) -> None:
    with pytest.raises(RunStopped) as stopped:
        await check_target(harness(outcome), tmp_path)
    line = str(stopped.value)
    assert outcome in line
    assert "openai at host: 401" in line
    assert POLICIES[outcome].remedy in line
    assert "\n" not in line
    assert list(tmp_path.iterdir()) == []


async def test_what_the_provider_said_already_is_not_said_again(tmp_path: Path) -> None:
    detail = "openai at host: unreachable (2 tries; connection refused): check base_url and the network (key K)"
    agent = FakeHarness(lambda _: FakeResult(outcome=Outcome.UNREACHABLE, detail=detail))
    with pytest.raises(RunStopped) as stopped:
        await check_target(agent, tmp_path)
    assert str(stopped.value).endswith(f": {detail}")
    assert str(stopped.value).count("unreachable") == str(stopped.value).count("base_url and the network") == 1


async def test_the_optimizer_is_asked_once() -> None:
    asked: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        asked.append(request)
        return "OK"

    await check_optimizer(ScriptedModel(answer))
    assert len(asked) == 1
    assert asked[0].schema is None


async def test_a_dead_optimizer_is_an_error_with_a_name() -> None:
    def dead(_: ModelRequest) -> str | ModelReply:
        raise ProviderError(ProviderFailure.AUTH, "openai at host: 401: check KEY", status=401)

    with pytest.raises(ProviderError, match="check KEY"):
        await check_optimizer(ScriptedModel(dead))


def test_a_check_waits_for_seconds_not_minutes() -> None:
    patient = Upstream("openai", "https://host/v1", SecretStr("k"), timeout_s=600, retry_s=60, tries=8)
    hasty = impatient(patient)
    assert (hasty.tries, hasty.retry_s, hasty.timeout_s) == (2, 3.0, 60.0)
    assert (hasty.base_url, hasty.api_key) == (patient.base_url, patient.api_key)
    already = Upstream("openai", "https://host/v1", SecretStr("k"), timeout_s=5, retry_s=0, tries=1)
    assert impatient(already) == already
