"""Publishing around a run: what would stop it is said before, what goes wrong after it is said and costs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.cli.output import Output
from daemon.config import Config, ConfigError, load_config
from daemon.publishing.around_run import check_publishing, publish_after
from daemon.publishing.check import publish_check
from skills_repo.publish.errors import PublishError
from tests.support.forges import PROJECT, TOKEN, ForgeServer
from tests.support.git_server import GitServer
from tests.support.honed_cli import git
from tests.support.projects import chat_project


def a_config(folder: Path, publish: str) -> Config:
    """A project with these lines in `[publish]`."""
    return load_config(
        chat_project(folder / "p", "http://127.0.0.1:9/v1", toml=f"\n[publish]\n{publish}\n") / "honed.toml"
    )


async def test_by_default_nobody_is_asked(tmp_path: Path) -> None:
    config = a_config(tmp_path, "")
    await check_publishing(config, Output())
    assert (await publish_after(config, Output()))["outcome"] == "off"


async def test_a_missing_remote_or_token_is_known_before_a_run_and_a_remote_that_is_away_does_not_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = a_config(tmp_path, 'mode = "pull-request"\nforge = "github"\napi_url = "http://127.0.0.1:9"')
    with pytest.raises(PublishError, match="there is no git remote origin"):
        await check_publishing(config, Output())
    git(config.skill.repository, "remote", "add", "origin", "ssh://git@127.0.0.1:9/team/skills.git")
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.setattr("daemon.publishing.token.shutil.which", lambda *args, **more: None)  # no gh of this machine
    with pytest.raises(ConfigError, match="set the environment variable GITHUB_TOKEN"):
        await check_publishing(config, Output())
    monkeypatch.setenv("GITHUB_TOKEN", "a-token-of-the-tests")
    await check_publishing(config, Output())
    said = " ".join(capsys.readouterr().err.split())
    assert "closed requests are not known: remote origin cannot be read" in said
    assert "the run goes on without" in said


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


async def test_the_doctor_says_what_is_missing_and_where_the_token_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = await publish_check(a_config(tmp_path / "quiet", ""), online=True)
    assert (quiet.state, quiet.detail) == ("ok", 'mode = "branch": nothing leaves this machine')
    async with GitServer(tmp_path / "remote") as server, ForgeServer("github") as forge:
        more = f'forge = "github"\napi_url = "{forge.api_url}"'
        config = a_config(tmp_path, f'mode = "pull-request"\n{more}')
        row = await publish_check(config)
        assert (row.state, row.remedy) == ("fail", "mend [publish] in honed.toml")
        assert "there is no git remote origin" in row.detail
        git(config.skill.repository, "remote", "add", "origin", server.url(PROJECT))
        monkeypatch.delenv("GITHUB_TOKEN", raising=False)
        a_gh(tmp_path / "bin", monkeypatch)
        for online in (False, True):
            row = await publish_check(config, online=online)
            asked = (len(server.requests) + len(forge.asked)) > 0
            assert asked is online, "asked only if that was wished for"
            assert row.state == ("warn" if online else "ok"), row
        assert "does not tell its default branch" in row.detail, "nothing was pushed there yet"
        git(config.skill.repository, "push", "-q", "origin", "HEAD:refs/heads/main")
        row = await publish_check(config, online=True)
        assert (row.state, row.remedy) == ("ok", "")
        assert (
            row.detail == 'mode = "pull-request", remote origin, token from `gh auth token`; all that is asked answers'
        )
        forge.token = "another"
        row = await publish_check(config, online=True)
        assert row.state == "warn"
        assert "does not take the token (401)" in row.detail
        assert "gh auth login --hostname 127.0.0.1:" in row.detail
        assert TOKEN not in repr(row)


def a_gh(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `gh` that somebody has logged in with, on the PATH."""
    folder.mkdir()
    (folder / "gh").write_text(f"#!/bin/sh\necho {TOKEN}\n")
    (folder / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
