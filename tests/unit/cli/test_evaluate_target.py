"""`honed eval --harness`: another agent asks its own provider, with its own key."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.cli.evaluate import _Settings
from daemon.config import SIMULATED, Config, ConfigError
from daemon.config_train import TrainSection


def config(**target: Any) -> Config:
    given = {"harness": "codex", "model": "gpt-5.5", "api_key_env": "OPENAI_KEY_OF_OURS", **target}
    return Config.model_validate(
        {"skill": {"path": "s"}, "tasks": {"path": "t"}, "target": given, "optimizer": {"model": "o"}}
    )


def asked(harness: Any = None, model: str | None = None) -> _Settings:
    return _Settings(None, no_skill=False, report_test=False, harness=harness, model=model, trial=0)


def test_another_provider_never_sees_the_key_or_address_of_target() -> None:
    before = config(base_url="https://models.example/v1", price={"input": 1, "output": 2})
    target = asked("claude-code", "claude-opus-5-5").target(before)
    assert (target.provider, target.model) == ("anthropic", "claude-opus-5-5")
    assert (target.base_url, target.api_key_env, target.price) == (None, None, None)


def test_another_provider_needs_a_model_of_its_own() -> None:
    with pytest.raises(ConfigError, match="--model"):
        asked("claude-code").target(config())


def test_the_same_provider_keeps_its_key_and_address() -> None:
    target = asked("chat").target(config(base_url="https://models.example/v1"))
    assert (target.harness, target.provider, target.model) == ("chat", "openai", "gpt-5.5")
    assert (target.base_url, target.api_key_env) == ("https://models.example/v1", "OPENAI_KEY_OF_OURS")


def test_another_model_has_not_the_price_of_the_first() -> None:
    priced = config(price={"input": 1, "output": 2})
    assert asked(model="gpt-5.5").target(priced).price is not None
    assert asked(model="gpt-5.5-mini").target(priced).price is None


def test_the_simulated_model_plays_every_agent() -> None:
    target = asked("claude-code").target(config(base_url=SIMULATED))
    assert (target.provider, target.base_url) == ("anthropic", SIMULATED)


def test_a_skill_is_scored_by_a_trial_that_did_not_accept_it() -> None:
    """Right after a run, the first trial is the lucky one that the gate decided by."""
    settings = asked()
    plain = _Settings(None, no_skill=False, report_test=False, harness=None, model=None, trial=None)
    sealed = _Settings(None, no_skill=False, report_test=True, harness=None, model=None, trial=None)
    strict = config().model_copy(update={"train": TrainSection(gate="strict")})
    assert settings.trial_of(config()) == 0
    assert plain.trial_of(config()) == TrainSection().gate_trials
    assert (sealed.trial_of(config()), plain.trial_of(strict)) == (0, 0)
