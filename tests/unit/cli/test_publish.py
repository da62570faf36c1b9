"""Publishing around a run: what would stop it is said before, what goes wrong after it is said and costs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.cli.output import Output
from daemon.cli.publish import check_publishing, publish_after
from daemon.config import Config, ConfigError, load_config
from skills_repo.publish.errors import PublishError
from tests.support.honed_cli import git
from tests.support.projects import chat_project


def a_config(folder: Path, publish: str) -> Config:
    """A project with these lines in `[publish]`."""
    return load_config(
        chat_project(folder / "p", "http://127.0.0.1:9/v1", toml=f"\n[publish]\n{publish}\n") / "honed.toml"
    )


async def test_by_default_nobody_is_asked(tmp_path: Path) -> None:
    config = a_config(tmp_path, "")
    await check_publishing(config)
    assert (await publish_after(config, Output()))["outcome"] == "off"


async def test_a_missing_remote_or_token_is_known_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = a_config(tmp_path, 'mode = "pull-request"')
    with pytest.raises(PublishError, match="there is no git remote origin"):
        await check_publishing(config)
    git(config.skill.repository, "remote", "add", "origin", "git@github.com:team/skills.git")
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    with pytest.raises(ConfigError, match="set the environment variable GITHUB_TOKEN"):
        await check_publishing(config)
    monkeypatch.setenv("GITHUB_TOKEN", "a-token-of-the-tests")
    await check_publishing(config)


async def test_what_goes_wrong_afterwards_is_said_and_the_run_stays_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = a_config(tmp_path, 'mode = "push"')
    git(config.skill.repository, "remote", "add", "origin", "http://127.0.0.1:9/team/skills.git")
    told = await publish_after(config, Output())
    assert told["outcome"] == "failed"
    said = " ".join(capsys.readouterr().err.split())
    assert "not published: remote origin cannot be read" in said
    assert "nothing is lost, and `honed publish` tries again" in said
