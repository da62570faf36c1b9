"""Keys out of the environment."""

from __future__ import annotations

import pytest

from daemon.config import ConfigError, OptimizerSection
from daemon.secrets import key_name, read_key


def _section(**values: object) -> OptimizerSection:
    return OptimizerSection.model_validate({"model": "m", **values})


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "OPENAI_API_KEY"),
        ({"provider": "anthropic"}, "ANTHROPIC_API_KEY"),
        ({"provider": "anthropic", "api_key_env": "TEAM_KEY"}, "TEAM_KEY"),
    ],
)
def test_the_key_comes_from_the_named_variable(values: dict[str, str], name: str) -> None:
    assert key_name(_section(**values)) == name
    found, key = read_key(_section(**values), {name: " k-123\n", "OTHER": "x"})
    assert (found, key.get_secret_value()) == (name, "k-123")
    assert "k-123" not in repr(key)


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": "  "}])
def test_a_missing_key_names_the_variable(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="the openai key is missing: set the environment variable OPENAI_API_KEY"):
        read_key(_section(), environ)


@pytest.mark.parametrize("value", ["two words", "caf\u00e9", "a\nb"])
def test_what_can_be_no_key_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY holds no API key") as raised:
        read_key(_section(), {"OPENAI_API_KEY": value})
    assert value not in str(raised.value)


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM_KEY", "k-9")
    assert read_key(_section(api_key_env="TEAM_KEY"))[1].get_secret_value() == "k-9"


@pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost", "[::1]:9"])
def test_a_server_on_loopback_needs_no_key_unless_one_is_named(host: str) -> None:
    assert read_key(_section(base_url=f"http://{host}/v1"), {})[1].get_secret_value()
    with pytest.raises(ConfigError, match="TEAM_KEY"):
        read_key(_section(base_url=f"http://{host}/v1", api_key_env="TEAM_KEY"), {})


def test_a_server_elsewhere_needs_a_key() -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        read_key(_section(base_url="http://127.0.0.1.example.com/v1"), {})
