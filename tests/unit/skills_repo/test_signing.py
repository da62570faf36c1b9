"""Signed commits with real keys: when they are made, that git finds them good, and that nothing ever waits."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from skills_repo.history import Author, RepositoryError
from skills_repo.objects import identity
from skills_repo.repository import SkillRepository
from skills_repo.signing import CannotSignError, Signer, SignMode
from tests.support.processes import runs
from tests.support.signing import gpg_key, is_signed, needs_gpg, needs_ssh, ssh_key, ssh_verifies
from tests.support.skills import HONED, SKILL_PATH, a_change, a_repository, a_skill, git, history_of
from tests.support.waiting import LONGER_S, wait_until

STAGES = [a_skill("\n- one\n"), a_skill("\n- one\n- two\n"), a_skill("\n- three\n")]
WHO = identity(HONED, 100)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person without any configuration, keys or agents."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("GNUPGHOME", "SSH_AUTH_SOCK", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return folder


def configure(folder: Path, **settings: str) -> None:
    """In the repository's own configuration; `__` is a dot."""
    for key, value in settings.items():
        git(folder, "config", key.replace("__", "."), value)


def history(folder: Path, mode: SignMode = "auto", *, timeout_s: float = 20.0) -> SkillRepository:
    signer = Signer(folder, mode, timeout_s=timeout_s)
    return SkillRepository(folder, SKILL_PATH, author=replace(HONED, signer=signer))


async def commit(repository: SkillRepository, count: int = 1) -> tuple[str, ...]:
    changes = [a_change(stage, position=n) for n, stage in enumerate(STAGES[:count], start=1)]
    return await repository.commit_edits(await repository.base(), changes, 100)


async def unsigned(tmp_path: Path) -> tuple[str, ...]:
    """What the same commits are without any signer."""
    return await commit(history_of(a_repository(tmp_path / "unsigned")))


@needs_ssh
@pytest.mark.parametrize("kind", ["plain", "bare", "sha256"])
async def test_a_repository_that_asks_gets_signatures_that_git_finds_good(tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "r"
    if kind == "sha256":
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main", "--object-format=sha256")
    a_repository(folder)
    if kind == "bare":
        git(tmp_path, "clone", "-q", "--bare", str(folder), str(tmp_path / "bare"))
        folder = tmp_path / "bare"
    key = ssh_key(tmp_path / "keys")
    configure(folder, commit__gpgSign="true", gpg__format="ssh", user__signingKey=str(key))
    repository = history(folder)
    made = await commit(repository, 2)
    assert [ssh_verifies(folder, one, key) for one in made] == [True, True]
    assert git(folder, "fsck", "--strict") == ""
    assert await repository.find_step("r-1", 1) == made, "a signature hides no trailer"
    newest = (await repository.log(1))[0]
    assert (newest.kind, newest.author, newest.when) == ("edit", "honed <honed@localhost>", 100.0)


@needs_ssh
@pytest.mark.parametrize("named", ["file", "public file", "literal with agent", "~"])
async def test_the_persons_own_configuration_may_ask_and_name_the_key(
    tmp_path: Path, home: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_repository(tmp_path / "r")
    key = ssh_key(home / "keys")
    value = {"file": str(key), "public file": f"{key}.pub", "~": "~/keys/key"}.get(named, "")
    agent = None
    if not value:
        agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(home / "agent")], stdout=subprocess.DEVNULL)
        wait_until((home / "agent").exists)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(home / "agent"))
        subprocess.run(["ssh-add", "-q", str(key)], check=True, capture_output=True)
        value = "key::" + key.with_suffix(".pub").read_text().strip()
    (home / ".gitconfig").write_text(f'[commit]\n\tgpgSign\n[gpg]\n\tformat = ssh\n[user]\n\tsigningKey = "{value}"\n')
    try:
        (made,) = await commit(history(folder))
        assert ssh_verifies(folder, made, key)
    finally:
        if agent:
            agent.terminate()
            agent.wait()


@needs_ssh
async def test_signatures_of_ed25519_keys_are_the_same_every_time(tmp_path: Path) -> None:
    key = ssh_key(tmp_path / "keys")
    made = []
    for name in ("one", "two"):
        folder = a_repository(tmp_path / name)
        configure(folder, commit__gpgSign="yes", gpg__format="ssh", user__signingKey=str(key))
        made.append(await commit(history(folder), 2))
    assert made[0] == made[1]


@needs_ssh
@pytest.mark.parametrize("mode", ["never", "auto", "always"])
@pytest.mark.parametrize("asked", ["true", "false"])
async def test_the_mode_and_the_repository_decide(tmp_path: Path, mode: SignMode, asked: str) -> None:
    folder = a_repository(tmp_path / "r")
    key = ssh_key(tmp_path / "keys")
    configure(folder, commit__gpgSign=asked, gpg__format="ssh", user__signingKey=str(key))
    wanted = mode == "always" or (mode == "auto" and asked == "true")
    assert history(folder, mode).author == HONED
    assert Signer(folder, mode).probe(WHO) == ("ssh" if wanted else "")
    made = await commit(history(folder, mode))
    assert is_signed(folder, made[0]) is wanted
    assert (made == await unsigned(tmp_path)) is not wanted


@needs_ssh
async def test_where_nobody_asks_commits_are_what_they_always_were(tmp_path: Path) -> None:
    assert await commit(history(a_repository(tmp_path / "r"))) == await unsigned(tmp_path)


def cannot(tmp_path: Path, folder: Path, how: str) -> str:
    """Set up a repository that asks for what cannot be; gives a piece of the reason."""
    configure(folder, commit__gpgSign="true", gpg__format="ssh")
    if how == "no key":
        return "user.signingKey names no key"
    if how == "key with a passphrase":
        configure(folder, user__signingKey=str(ssh_key(tmp_path / "keys", passphrase="secret words")))
        return "passphrase"
    if how == "key that is gone":
        configure(folder, user__signingKey=str(tmp_path / "gone"))
        return "gone"
    if how == "x509":
        configure(folder, gpg__format="x509")
        return "'x509' is not supported here"
    configure(folder, user__signingKey="-Olines\nand more")
    return "user.signingKey is no key"


HOWS = ["no key", "key with a passphrase", "key that is gone", "x509", "key that is none"]


@needs_ssh
@pytest.mark.parametrize("how", HOWS)
async def test_what_cannot_be_signed_is_committed_without_and_said_once(tmp_path: Path, how: str) -> None:
    folder = a_repository(tmp_path / "r")
    reason = cannot(tmp_path, folder, how)
    with capture_logs() as logs:
        made = await commit(history(folder), 3)
    assert made[:1] == await unsigned(tmp_path)
    assert not any(is_signed(folder, one) for one in made)
    [said] = [row for row in logs if row["log_level"] == "warning"]
    assert reason in said["reason"]
    assert said["reason"].isprintable()


@needs_ssh
@pytest.mark.parametrize("how", HOWS)
async def test_under_always_nothing_is_committed_without(tmp_path: Path, how: str) -> None:
    folder = a_repository(tmp_path / "r")
    reason = cannot(tmp_path, folder, how)
    repository = history(folder, "always")
    with pytest.raises(CannotSignError, match=reason):
        Signer(folder, "always").probe(WHO)
    with pytest.raises(RepositoryError, match=f'sign = "always", but no commit can be signed: .*{reason}'):
        await commit(repository)
    assert git(folder, "branch", "--list", "honed/*") == ""


async def test_a_program_that_hangs_is_ended_with_its_children(tmp_path: Path, home: Path) -> None:
    program, pids = tmp_path / "hangs", tmp_path / "children"
    program.write_text(f"#!/bin/sh\nsleep 600 &\necho $! >> {pids}\nsleep 600\n")
    program.chmod(0o755)
    (home / ".gitconfig").write_text(
        "[commit]\n\tgpgSign = true\n[user]\n\tsigningKey = x\n"
        f'[gpg]\n\tformat = ssh\n[gpg "ssh"]\n\tprogram = {program}\n'
    )
    for timeout_s in LONGER_S:
        folder = a_repository(tmp_path / f"r{timeout_s:g}")
        with capture_logs() as logs:
            made = await commit(history(folder, timeout_s=timeout_s), 2)
        assert len(made) == 2
        assert f"signing took longer than {timeout_s:g} s" in logs[0]["reason"]
        if pids.exists() and pids.read_text():
            break  # it had begun by then
    children = [int(line) for line in pids.read_text().split()]
    assert len(children) == 1, "tried once, not for each commit"
    wait_until(lambda: not runs(children[0]))


@pytest.mark.parametrize("form", ["ssh", "openpgp"])
async def test_no_program_runs_that_the_repository_alone_names(tmp_path: Path, form: str) -> None:
    folder = a_repository(tmp_path / "r")
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\nexit 1\n")
    evil.chmod(0o755)
    names = ("gpg.program", "gpg.ssh.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand")
    for name in names:
        git(folder, "config", name, str(evil))
    configure(folder, commit__gpgSign="true", gpg__format=form)
    if form == "ssh":
        configure(folder, user__signingKey=str(tmp_path / "gone"))
    await commit(history(folder))
    with pytest.raises(CannotSignError):
        Signer(folder, "always").probe(WHO)
    assert not (tmp_path / "ran").exists()


@needs_ssh
async def test_trying_it_out_leaves_the_repository_alone(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    ssh_key(folder / "keys")
    configure(folder, gpg__format="ssh", user__signingKey="keys/key")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert Signer(folder, "always").probe(WHO) == "ssh", "a relative key counts from the repository"
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@needs_gpg
async def test_openpgp_signs_by_key_id_and_by_the_committers_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_repository(tmp_path / "r")
    configure(folder, commit__gpgSign="true")
    with gpg_key(tmp_path / "gpg") as key:
        monkeypatch.setenv("GNUPGHOME", str(tmp_path / "gpg"))
        (first,) = await commit(history(folder))
        configure(folder, user__signingKey=key)
        repository = history(folder)
        (second,) = await repository.commit_edits(first, [a_change(STAGES[2], step=2)], 200)
        shown = git(folder, "log", "--format=%G? %GF", "-2", second, GNUPGHOME=str(tmp_path / "gpg"))
        assert shown == f"G {key}\n" * 2
        assert git(folder, "fsck", "--strict") == ""
        stranger = replace(HONED, signer=Signer(folder, "always"))
        configure(folder, user__signingKey="")
        other = SkillRepository(folder, SKILL_PATH, author=replace(stranger, email="nobody@example.com"))
        with pytest.raises(RepositoryError, match=r"no commit can be signed: .*key 'honed <nobody@example.com>'"):
            await commit(other)


@needs_gpg
async def test_an_openpgp_key_behind_a_passphrase_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = a_repository(tmp_path / "r")
    configure(folder, commit__gpgSign="true")
    with gpg_key(tmp_path / "gpg", passphrase="secret words"):
        monkeypatch.setenv("GNUPGHOME", str(tmp_path / "gpg"))
        environment = {"PATH": os.environ["PATH"], "GNUPGHOME": str(tmp_path / "gpg")}
        subprocess.run(["gpgconf", "--kill", "gpg-agent"], env=environment, check=True)  # it knows the passphrase
        with capture_logs() as logs:
            assert await commit(history(folder)) == await unsigned(tmp_path)
        assert "(key 'honed <honed@localhost>': is it there, and its agent unlocked?)" in logs[0]["reason"]


def test_an_author_is_who_signs_or_not(tmp_path: Path) -> None:
    assert Author("a", "b", Signer(tmp_path, "auto")) == Author("a", "b")
