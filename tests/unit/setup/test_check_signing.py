"""Whether commits can be signed is known before anything is paid for."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.config import Config, load_config
from daemon.places import open_history
from daemon.setup.check_signing import refuse_unsigned, signing_check
from skills_repo.history import RepositoryError
from tests.support.history import change, skill_project, step_message, with_lines
from tests.support.honed_cli import git
from tests.support.signing import is_signed, needs_ssh, ssh_key


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository that has no key and wants ssh signatures, if any; returns its folder."""
    folder = skill_project(tmp_path / "p").parent
    git(folder, "config", "gpg.format", "ssh")
    return folder


def configured(folder: Path, sign: str, *, asked: bool) -> Config:
    git(folder, "config", "commit.gpgSign", str(asked).lower())
    toml = folder / "honed.toml"
    toml.write_text(f'{toml.read_text()}\n[git]\nsign = "{sign}"\n')
    return load_config(toml)


@pytest.mark.parametrize(
    ("sign", "asked", "state", "detail"),
    [
        ("auto", False, "ok", "commits are not signed"),
        ("never", True, "ok", "commits are not signed"),
        ("auto", True, "warn", "git asks for signed commits, which honed cannot make: git's user.signingKey names"),
        ("always", False, "fail", "no commit can be signed: git's user.signingKey names no key"),
    ],
)
async def test_the_doctors_row(project: Path, sign: str, state: str, detail: str, *, asked: bool) -> None:
    row = await signing_check(configured(project, sign, asked=asked))
    assert (row.name, row.state) == ("signing", state)
    assert row.detail.startswith(detail)
    assert ('sign = "never" in [git]' in row.remedy) is (state != "ok")


@pytest.mark.parametrize("sign", ["auto", "never"])
async def test_training_goes_on_where_a_signature_may_be_missing(project: Path, sign: str) -> None:
    await refuse_unsigned(configured(project, sign, asked=True))


async def test_training_is_refused_where_every_commit_must_be_signed(project: Path) -> None:
    with pytest.raises(RepositoryError, match=r"no commit can be signed: .*user\.signingKey names no key"):
        await refuse_unsigned(configured(project, "always", asked=True))


@needs_ssh
async def test_what_the_doctor_finds_good_is_what_commits_get(project: Path, tmp_path: Path) -> None:
    git(project, "config", "user.signingKey", str(ssh_key(tmp_path / "keys")))
    config = configured(project, "always", asked=False)
    await refuse_unsigned(config)
    row = await signing_check(config)
    assert (row.state, row.detail) == ("ok", "commits are signed (ssh)")
    history = open_history(config)
    (made,) = await history.commit_edits(await history.base(), [change(with_lines("- new"), step_message())], 5)
    assert is_signed(project, made)
