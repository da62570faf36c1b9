"""Publishing over ssh to a real sshd: a person's own keys, agent and known hosts; never a prompt; clear refusals."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from skills_repo.publish.errors import PublishError
from skills_repo.publish.outcome import Outcome
from skills_repo.publish.said import LONGEST, reason
from tests.support.forges import PROJECT, ForgeServer
from tests.support.publishing import BRANCH, Work, a_clone, publisher, refs
from tests.support.skills import a_skill, git
from tests.support.ssh_server import SshServer, keypair, missing

REF = f"refs/heads/{BRANCH}"
needs_sshd = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    """One server for all."""
    with SshServer(tmp_path_factory.mktemp("ssh") / "server") as one:
        yield one


@pytest.fixture
async def work(sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """A clone with one accepted edit, of a repository of its own."""
    monkeypatch.setenv("GIT_SSH_COMMAND", sshd.command())
    sshd.trust()
    one = Work(tmp_path / "work")
    made = a_clone_over(sshd, one.folder, f"{tmp_path.name}/skills")
    await made.accept("- use checkboxes")
    return made


def a_clone_over(sshd: SshServer, folder: Path, project: str) -> Work:
    """A repository with a skill, pushed over ssh by its owner."""
    url = sshd.url(project)
    work = a_clone(folder, str(sshd.bare(project)))
    git(folder, "remote", "set-url", "origin", url)
    return work


def bare(sshd: SshServer, tmp_path: Path) -> Path:
    """The remote's folder."""
    return sshd.bare(f"{tmp_path.name}/skills")


@needs_sshd
async def test_a_push_over_ssh_moves_the_branch_and_nothing_else(work: Work, sshd: SshServer, tmp_path: Path) -> None:
    theirs = refs(bare(sshd, tmp_path))
    assert (await publisher(work).publish()).outcome is Outcome.PUSHED
    assert refs(bare(sshd, tmp_path)) == {**theirs, REF: work.head}
    assert (await publisher(work).publish()).outcome is Outcome.UNCHANGED
    await work.accept("- more", step=2)
    assert (await publisher(work).publish()).outcome is Outcome.PUSHED
    git(bare(sshd, tmp_path), "fsck", "--strict")


@needs_sshd
async def test_the_repository_s_own_ssh_command_is_used(
    work: Work, sshd: SshServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_SSH_COMMAND")
    git(work.folder, "config", "core.sshCommand", sshd.command())
    assert (await publisher(work).publish()).outcome is Outcome.PUSHED


@needs_sshd
async def test_a_key_in_the_person_s_agent_opens_the_door(
    work: Work, sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", sshd.command(agent=True))
    said = subprocess.run(["ssh-agent", "-s"], capture_output=True, text=True, check=True).stdout
    found = dict(part.split("=", 1) for part in said.replace("\n", ";").split(";") if part.startswith("SSH_"))
    try:
        monkeypatch.setenv("SSH_AUTH_SOCK", found["SSH_AUTH_SOCK"])
        with pytest.raises(PublishError, match="Permission denied"):
            await publisher(work).publish()
        subprocess.run(["ssh-add", "-q", sshd.key], check=True, env={**os.environ, **found})
        assert (await publisher(work).publish()).outcome is Outcome.PUSHED
    finally:
        os.kill(int(found["SSH_AGENT_PID"]), 15)


@needs_sshd
async def test_an_unknown_host_is_refused_without_a_question(work: Work, sshd: SshServer) -> None:
    """Its key is not written down either: who it is, a person decides."""
    sshd.known_hosts.write_text("")
    with pytest.raises(PublishError) as raised:
        await publisher(work).publish()
    assert "remote origin cannot be read: Host key verification failed" in str(raised.value)
    assert "ssh does not know this host: connect once by hand" in str(raised.value)
    assert sshd.known_hosts.read_text() == ""


@needs_sshd
async def test_a_host_whose_key_has_changed_is_told_apart(work: Work, sshd: SshServer, tmp_path: Path) -> None:
    sshd.trust(keypair(tmp_path / "another"))
    with pytest.raises(PublishError, match="has changed and you have requested strict checking") as raised:
        await publisher(work).publish()
    assert "ask who runs it" in str(raised.value)


@needs_sshd
async def test_a_key_that_is_locked_or_unknown_is_refused_without_a_question(
    work: Work, sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that would ask is there, and is not started."""
    asker = tmp_path / "asker"
    asker.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\necho hunter2\n")
    asker.chmod(0o755)
    for name, value in {"SSH_ASKPASS": str(asker), "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":9"}.items():
        monkeypatch.setenv(name, value)
    locked = keypair(tmp_path / "locked", "hunter2")
    with sshd.authorized.open("ab") as file:
        file.write(locked.with_suffix(".pub").read_bytes())
    for key in (locked, keypair(tmp_path / "stranger")):
        monkeypatch.setenv("GIT_SSH_COMMAND", sshd.command(key=key))
        with pytest.raises(PublishError, match=r"Permission denied \(publickey\)") as raised:
            await publisher(work).publish()
        assert "load your key with `ssh-add`" in str(raised.value)
    assert not (tmp_path / "asked").exists()


@needs_sshd
async def test_a_repository_that_is_not_there_and_a_port_where_nobody_is(work: Work, sshd: SshServer) -> None:
    url = git(work.folder, "remote", "get-url", "origin").strip()
    git(work.folder, "remote", "set-url", "origin", url.replace("skills.git", "gone.git"))
    with pytest.raises(PublishError, match=r"does not appear to be a git repository .*`git remote -v`"):
        await publisher(work).publish()
    git(work.folder, "remote", "set-url", "origin", url.replace(f":{sshd.port}/", ":1/"))
    with pytest.raises(PublishError, match=r"Connection refused .*and the network"):
        await publisher(work).publish()


@needs_sshd
async def test_a_request_with_a_sha256_repository_over_ssh(
    sshd: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids of 64 digits everywhere: notes, block, request."""
    monkeypatch.setenv("GIT_SSH_COMMAND", sshd.command())
    sshd.trust()
    url = sshd.url(f"{tmp_path.name}/{PROJECT}", object_format="sha256")
    there = sshd.bare(f"{tmp_path.name}/{PROJECT}")
    work = Work(sha256_clone(tmp_path / "work", url))
    edit = await work.accept("- use checkboxes")
    assert len(edit) == 64
    async with ForgeServer("gitlab") as server:
        server.read_heads = lambda: {name.removeprefix("refs/heads/"): oid for name, oid in refs(there).items()}
        for outcome in (Outcome.CREATED, Outcome.UNCHANGED):
            forge = server.forge()
            assert (await publisher(work, forge).publish()).outcome is outcome
            await forge.close()
        assert edit[:10] in server.rows[0].body
        server.end(1, comment="No.")
        forge = server.forge()
        one = publisher(work, forge)
        assert (await one.publish()).outcome is Outcome.WAITING
        assert [row.edits for row in (await one.state()).rejections] == [(edit,)]
        await forge.close()
    assert refs(there)[REF] == edit


def sha256_clone(folder: Path, url: str) -> Path:
    """A repository with a skill in the newer object format, pushed."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", "--object-format=sha256")
    for path, data in a_skill().files.items():
        (folder / "team/skills/xlsx" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "team/skills/xlsx" / path).write_bytes(data)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Start")
    git(folder, "remote", "add", "origin", url)
    git(folder, "push", "-q", "origin", "main", GIT_SSH_COMMAND=os.environ["GIT_SSH_COMMAND"])
    return folder


@pytest.mark.parametrize(
    ("stderr", "line", "remedy"),
    [
        ("", "git gave no reason", ""),
        ("hint: x\nfatal: something odd\n", "something odd", ""),
        (
            "ssh: connect to host x port 22: No route to host\nfatal: Could not read from remote repository.\n",
            "ssh: connect to host x port 22: No route to host",
            "the network",
        ),
        ("ERROR: Repository not found.\nfatal: Could not read\n", "ERROR: Repository not found.", "git remote -v"),
        (
            "fatal: could not read Username for 'https://me:hunter2@x.example': terminal prompts disabled\n",
            "could not read Username for 'https://x.example': terminal prompts disabled",
            "credential helper",
        ),
        (
            "remote: Denied\nfatal: unable to access 'https://x/': The requested URL returned error: 403\n",
            "unable to access 'https://x/': The requested URL returned error: 403",
            "right to write",
        ),
        ("remote: \x1b[31mred\u202e\n", "remote: [31mred", ""),
        ("fatal: " + "x" * 900, "x" * LONGEST, ""),
    ],
)
def test_what_git_says_is_one_harmless_line_with_its_remedy(stderr: str, line: str, remedy: str) -> None:
    found = reason(stderr)
    assert found[0] == line
    assert remedy in found[1]
    assert bool(found[1]) == bool(remedy)
