"""Keys out of the environment, a file or a command."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from pydantic import SecretStr

from daemon import secrets
from daemon.config import ConfigError, OptimizerSection
from daemon.redaction import redact
from daemon.secrets import key_name, key_variables, prepare, read_key, renewal


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


def _file(folder: Path, text: str = "k-file-123\n", mode: int = 0o600) -> Path:
    path = folder / "key"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_key_from_a_file_that_nobody_else_may_read(tmp_path: Path) -> None:
    path = _file(tmp_path)
    name, key = read_key(_section(api_key_file=path), {"OPENAI_API_KEY": "other"})
    assert (name, key.get_secret_value()) == (f"api_key_file {path}", "k-file-123")
    assert redact("it is k-file-123") == "it is [redacted]"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620, 0o777])
def test_a_file_that_others_may_read_is_refused_with_the_remedy(tmp_path: Path, mode: int) -> None:
    path = _file(tmp_path, mode=mode)
    with pytest.raises(ConfigError, match=f"can be read by others: run `chmod 600 {path}`"):
        read_key(_section(api_key_file=path))
    path.chmod(0o600)
    assert read_key(_section(api_key_file=path))


@pytest.mark.parametrize(
    ("text", "why"), [("", "empty"), (" \n", "empty"), ("x" * 70_000, "too large"), ("two words", "odd characters")]
)
def test_a_file_without_a_key_is_refused_without_being_shown(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as raised:
        read_key(_section(api_key_file=_file(tmp_path, text)))
    assert "two words" not in str(raised.value)


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo", 0o600)
    (tmp_path / "link").symlink_to(tmp_path / "none")
    for name, why in (("fifo", "no regular file"), ("link", "No such file"), (".", "no regular file")):
        with pytest.raises(ConfigError, match=why):
            read_key(_section(api_key_file=tmp_path / name))


def _program(folder: Path, script: str) -> tuple[str, ...]:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return (str(path), "$HOME; echo x")


def _counting(folder: Path) -> tuple[str, ...]:
    return _program(folder, f'echo x >> {folder}/count; echo "k-cmd-$(wc -l < {folder}/count)-abc"')


def test_a_command_is_run_once_without_a_shell_and_without_our_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-ours-0123456789")
    command = _program(tmp_path, f'env > {tmp_path}/env; echo "$@" > {tmp_path}/args; echo k-printed-1')
    section = _section(api_key_command=command)
    prepare([section, None])
    assert [read_key(section)[1].get_secret_value() for _ in range(3)] == ["k-printed-1"] * 3
    assert (tmp_path / "args").read_text() == "$HOME; echo x\n"
    assert "sk-ours" not in (tmp_path / "env").read_text()
    assert read_key(section)[0] == key_name(section) == "api_key_command program"
    assert "$HOME" not in key_name(section)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 3", "failed with exit code 3"),
        ("true", "printed no API key"),
        ("echo two words", "odd characters"),
        ("head -c 100000 /dev/zero | tr '\\0' x", "printed no API key"),
        ("sleep 30", "did not end within"),
    ],
)
def test_a_command_that_prints_no_key_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    monkeypatch.setattr(secrets, "COMMAND_S", 0.3 if "sleep" in script else 30.0)
    with pytest.raises(ConfigError, match=why) as raised:
        read_key(_section(api_key_command=_program(tmp_path, script)))
    assert "two words" not in str(raised.value)
    with pytest.raises(ConfigError, match="cannot be run: No such file"):
        read_key(_section(api_key_command=("/nowhere/at/all",)))


async def test_a_refused_key_is_got_anew_once(tmp_path: Path) -> None:
    section = _section(api_key_command=_counting(tmp_path))
    again = renewal(section)
    assert again is not None
    first = read_key(section)[1]

    def told() -> str:
        return again.current(first).get_secret_value()

    assert told() == "k-cmd-1-abc"
    assert await again.renewed("k-cmd-1-abc", told)
    assert told() == "k-cmd-2-abc"
    assert await again.renewed("k-cmd-1-abc", told)  # whoever was refused with the old one takes the new one
    assert (tmp_path / "count").read_text() == "x\n" * 2
    assert read_key(section)[1].get_secret_value() == "k-cmd-2-abc"
    assert again.seen == (SecretStr("k-cmd-2-abc"),)


async def test_the_same_key_again_is_no_other(tmp_path: Path) -> None:
    for section in (
        _section(api_key_file=_file(tmp_path, "k-same-12345")),
        _section(api_key_command=_program(tmp_path, "echo k-same-12345")),
    ):
        again = renewal(section)
        assert again is not None
        key = read_key(section)[1].get_secret_value()
        assert not await again.renewed(key, lambda: "k-same-12345")
        assert not await again.renewed(key, lambda: "k-same-12345")
    assert renewal(_section()) is None


def test_variables_that_may_hold_the_key() -> None:
    assert key_variables(_section()) == {"OPENAI_API_KEY"}
    assert key_variables(_section(api_key_env="MINE")) == {"MINE"}
