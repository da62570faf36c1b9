"""`[publish]` and the forge's token: what is refused, by key and remedy, and that no secret is ever repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.config import Config, ConfigError, load_config
from daemon.config_publish import PublishSection
from daemon.optimizer.settings import Knobs
from daemon.publishing.token import model_keys, read_token
from daemon.redaction import redact
from skills_repo.publish.address import Project
from skills_repo.publish.settings import PublishSettings

START = """\
[skill]
path = "skills/x"
[tasks]
path = "tasks.jsonl"
[target]
harness = "chat"
model = "m"
api_key_env = "TARGET_KEY"
[optimizer]
model = "m"
"""


def load(folder: Path, publish: str) -> Config:
    """A honed.toml with these lines in `[publish]`."""
    file = folder / "honed.toml"
    file.write_text(f"{START}[publish]\n{publish}\n")
    return load_config(file)


def test_by_default_nothing_leaves(tmp_path: Path) -> None:
    assert load(tmp_path, "").publish.settings() == PublishSettings(mode="branch")


def test_a_whole_section(tmp_path: Path) -> None:
    text = 'mode = "pull-request"\nremote = "team/up"\nbase = "release/1.x"\nlabels = ["skills", "a b"]'
    found = load(
        tmp_path, text + "\nopen_limit = 1\ndaily_limit = 2" + '\napi_url = "http://127.0.0.1:8080/api/v3/"'
    ).publish
    assert found.settings() == PublishSettings("pull-request", "team/up", "release/1.x", 1, 2, ("skills", "a b"))
    assert found.api_url == "http://127.0.0.1:8080/api/v3"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('mode = "pr"', "must be one of 'branch', 'push', 'pull-request' or 'direct'"),
        ('remote = "https://user:s3cret-token@example.com/a/b"', "[publish] remote must be the name of a git remote"),
        ('remote = "--upload-pack=x"', "must be the name of a git remote"),
        ('base = "refs/heads/main"', "without refs/heads/"),
        ('base = "a..b"', "must be a branch name"),
        ('base = "-f"', "must be a branch name"),
        ('base = "x.lock"', "must be a branch name"),
        ('token_env = "s3cret-token"', "must be the name of an environment variable, never the token itself"),
        ('api_url = "https://user:s3cret-token@example.com"', "must be https://host[/path] without user"),
        ('api_url = "http://example.com"', "http:// on loopback alone"),
        ('api_url = "https://example.com?token=s3cret-token"', "must be https://host"),
        ('labels = ["a,b"]', "without commas"),
        ('labels = [" a"]', "must be labels"),
        ("open_limit = 0", "must be at least 1"),
        ("timeout_s = 0", "must be more than 0"),
        ("timeout_s = 1e308", "must be at most 86400"),
        ('tokn_env = "X"', "did you mean `token_env`?"),
    ],
)
def test_what_is_refused(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load(tmp_path, line)
    said = str(raised.value)
    assert words in said
    assert "honed.toml:12: [publish]" in said
    assert "s3cret" not in said


def test_publishing_is_no_part_of_what_decides_a_run(tmp_path: Path) -> None:
    off, on = load(tmp_path, ""), load(tmp_path, 'mode = "push"')
    assert Knobs.from_config(off, None) == Knobs.from_config(on, None)


@pytest.mark.parametrize(
    ("section", "kind", "name"),
    [
        (PublishSection(), "github", "GITHUB_TOKEN"),
        (PublishSection(), "gitlab", "GITLAB_TOKEN"),
        (PublishSection(token_env="BOT"), "gitlab", "BOT"),
    ],
)
def test_the_token_is_read_once_and_never_shown(section: PublishSection, kind: str, name: str) -> None:
    project = Project(kind, "https://forge.example/api", "team/skills")  # type: ignore[arg-type]
    found, token = read_token(section, project, {name: " the-token-of-the-bot\n", "PATH": ""})
    assert (found.name, token.get_secret_value()) == (name, "the-token-of-the-bot")
    assert f"set the environment variable {name}" in found.renew
    assert redact("x the-token-of-the-bot y") == "x [redacted] y"
    for value, words in (("", "is missing: set the environment variable"), ("two words", "holds no token")):
        with pytest.raises(ConfigError, match=words) as raised:
            read_token(section, project, {name: value, "PATH": ""})
        assert name in str(raised.value)
        assert "two words" not in str(raised.value)


GITHUB = Project("github", "https://api.github.com", "team/skills")
AT_WORK = Project("github", "https://git.example.com/api/v3", "team/skills")


def a_gh(folder: Path, script: str) -> dict[str, str]:
    """An environment with a `gh` that notes what it was asked and then does this."""
    folder.mkdir(exist_ok=True)
    program = folder / "gh"
    program.write_text(f'#!/bin/sh\necho "$*" >> {folder}/asked\nenv > {folder}/env\n{script}\n')
    program.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "TARGET_KEY": "of-the-model"}


def test_without_a_variable_the_token_comes_from_gh_and_that_is_known(tmp_path: Path) -> None:
    env = a_gh(tmp_path / "bin", "echo gh-gave-this-token")
    for project, host in ((GITHUB, "github.com"), (AT_WORK, "git.example.com")):
        source, token = read_token(PublishSection(), project, env, frozenset({"TARGET_KEY"}))
        assert (source.name, token.get_secret_value()) == ("`gh auth token`", "gh-gave-this-token")
        assert source.renew == f"log in again: `gh auth login --hostname {host}`"
        assert (tmp_path / "bin/asked").read_text().splitlines()[-1] == f"auth token --hostname {host}"
    assert redact("gh-gave-this-token") == "[redacted]"
    seen = (tmp_path / "bin/env").read_text()
    assert "of-the-model" not in seen
    assert "GH_PROMPT_DISABLED=1" in seen


@pytest.mark.parametrize(
    ("section", "project", "more"),
    [
        (PublishSection(), GITHUB, {"GITHUB_TOKEN": "of-the-variable"}),
        (PublishSection(token_env="BOT"), GITHUB, {}),
        (PublishSection(), Project("gitlab", "https://gitlab.com/api/v4", "team/skills"), {}),
    ],
)
def test_gh_is_not_asked_where_a_variable_is_set_or_named_or_the_forge_is_another(
    section: PublishSection, project: Project, more: dict[str, str], tmp_path: Path
) -> None:
    env = {**a_gh(tmp_path / "bin", "echo gh-gave-this-token"), **more}
    if more:
        assert read_token(section, project, env)[0].name == "GITHUB_TOKEN"
    else:
        with pytest.raises(ConfigError, match="the forge's token is missing"):
            read_token(section, project, env)
    assert not (tmp_path / "bin/asked").exists()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'no oauth token found for @github.com' >&2; exit 1", "gh said: no oauth token found for @ github.com"),
        ("exit 0", "or `gh auth login --hostname github.com`"),
        ("echo two words", "`gh auth token` holds no token"),
    ],
)
def test_a_gh_that_has_no_token_is_told_with_the_way_to_log_in(script: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        read_token(PublishSection(), GITHUB, a_gh(tmp_path / "bin", script))
    assert words in str(raised.value)


def test_without_gh_the_message_names_both_ways() -> None:
    with pytest.raises(ConfigError, match=r"set the environment variable GITHUB_TOKEN .*, or install `gh` and log in"):
        read_token(PublishSection(), GITHUB, {"PATH": "/nonexistent"})


def test_the_keys_of_models_are_known_by_name(tmp_path: Path) -> None:
    assert model_keys(load(tmp_path, "")) == {"TARGET_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
