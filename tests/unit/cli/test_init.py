"""`honed init`: the file that it writes names a model that its provider has."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.cli.init import MODELS
from daemon.config import load_config
from harnesses.models.prices import price_of
from tests.support.honed_cli import honed


@pytest.mark.parametrize(
    ("harness", "provider"), [("chat", "openai"), ("codex", "openai"), ("claude-code", "anthropic")]
)
def test_the_model_is_the_providers_own(tmp_path: Path, harness: str, provider: str) -> None:
    ran = honed("init", "--skill", "skills/x", "--harness", harness, cwd=tmp_path)
    assert ran.code == 0, ran.stderr
    config = load_config(tmp_path / "honed.toml")
    for section in (config.target, config.optimizer):
        assert section.provider == provider
        assert section.model == MODELS[section.provider]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_the_default_models_have_a_price(provider: str) -> None:
    assert price_of(provider, MODELS[provider]) is not None  # type: ignore[arg-type,index]


def test_a_model_that_is_named_holds_for_the_optimizer_too(tmp_path: Path) -> None:
    assert honed("init", "--skill", "s/x", "--harness", "claude-code", "--model", "m", cwd=tmp_path).code == 0
    config = load_config(tmp_path / "honed.toml")
    assert (config.target.model, config.optimizer.model) == ("m", "m")
