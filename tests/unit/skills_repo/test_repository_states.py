"""Honed's verbs on a repository in every state: what belongs to people is the same afterwards, byte for byte."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from skills_repo.git import Git
from skills_repo.history import EditCommit, RepositoryError
from skills_repo.notes import ReportNotes
from skills_repo.publish.remote import Remote
from skills_repo.rejected_refs import RejectedRefs
from skills_repo.repository import SkillRepository
from skills_repo.revert import revert
from skills_repo.signing import Signer
from skills_repo.skill import Skill, from_files
from tests.support.skills import HONED, SKILL_PATH, a_change, a_repository, git, history_of, lay
from tests.support.states import (
    STATES,
    State,
    copy_of,
    elsewhere,
    fingerprint,
    given_away,
    linked,
    mark,
    programs,
    template,
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("template") / "r")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return copy_of(made, tmp_path / "r")


def stages(start: Skill) -> tuple[Skill, Skill]:
    """Two edits: of the text, and of other files, which change, come and go."""
    first = start.with_text(start.text + "- three\n")
    changed = {
        "references/crlf_md": b"one\r\n2\r\n",
        "scripts/run_sh": b"#!/bin/sh\n",
        "references/n\u00e9w.md": b"new",
    }
    files = {path: data for path, data in {**first.files, **changed}.items() if path != "scripts/empty"}
    return first, from_files("xlsx", files)


def tree_of(where: Path, commit: str) -> dict[str, str]:
    """Path to mode, kind and id of everything in a commit."""
    rows = git(where, "--no-replace-objects", "ls-tree", "-r", "-z", commit).split("\0")[:-1]
    return {row.split("\t", 1)[1]: row.split("\t", 1)[0] for row in rows}


async def work(history: SkillRepository, start: Skill) -> list[str]:
    """Everything that honed does in a repository; returns the commits."""
    await history.check_writable()
    await history.overlooked()
    await history.dirty()
    base = await history.base()
    assert (await history.read(base)).digest == start.digest
    after = stages(start)
    changes = [a_change(skill, position=number, of=2) for number, skill in enumerate(after, start=1)]
    commits = list(await history.commit_edits(base, changes, 2_000))
    assert await history.find_step("r-1", 1) == tuple(commits)
    await _beside_the_branch(history, commits, changes[-1])
    log = await history.log()
    back = await revert(history, [log[0]], reason="no", when=3_000)
    assert (await history.read(history.branch)).digest == after[0].digest
    shallow = pytest.raises(RepositoryError, match="is a shallow clone")
    with shallow if (history.root / ".git/shallow").exists() else nullcontext():
        assert _bisected(history, base, commits) == (commits[1],)
    lines = await history.blame(history.branch, "SKILL.md", [1, start.text.count("\n") + 1])
    assert lines[1].commit.sha == commits[0]
    assert await history.changed_beside(commits[1]) == ()
    assert await history.is_ancestor(base, back[-1])
    return [base, *commits, *back]


async def _beside_the_branch(history: SkillRepository, commits: list[str], change: EditCommit) -> None:
    """A rejected edit that is kept and pruned, and the note on a run."""
    rejected = RejectedRefs(history.root, SKILL_PATH, author=HONED)
    await rejected.keep("r-1.2", commits[-2], (change,), by="gate", when=2_000)
    assert await rejected.prune(older_than=2_500, most=9) == ("r-1.2",)
    await ReportNotes(history.root, author=HONED).append(commits[-1], "A report", when=2_000)


def _bisected(history: SkillRepository, base: str, commits: list[str]) -> tuple[str, ...]:
    with history.bisection(base, commits[-1]) as search:
        while search.asks is not None:
            search.say("good" if search.asks == commits[0] else "bad")
        return search.found


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
async def test_nothing_of_anybodys_is_touched(folder: Path, state: State) -> None:
    where = state(folder)
    remote = _remote(where)
    before = fingerprint(where)
    mark(where).unlink(missing_ok=True)
    author = replace(HONED, signer=Signer(where, "auto")) if state is programs else HONED
    history = SkillRepository(where, SKILL_PATH, author=author)
    line = await work(history, await history.read(await history.base()))
    Remote(where, "bare").push(line[-1], history.branch)
    assert git(remote, "rev-parse", history.branch).strip() == line[-1]
    assert not mark(where).exists()
    before.assert_kept(fingerprint(where))
    assert git(
        where, "--no-replace-objects", "rev-list", "--reverse", "--parents", f"{line[0]}..{history.branch}"
    ).splitlines() == [f"{child} {parent}" for parent, child in pairwise(line)]
    old, new = tree_of(where, line[0]), tree_of(where, line[2])
    changed = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    inside = ("SKILL.md", "references/crlf_md", "scripts/run_sh", "scripts/empty", "references/n\u00e9w.md")
    assert changed == {f"{SKILL_PATH}/{name}" for name in inside}
    assert new[f"{SKILL_PATH}/scripts/run_sh"].startswith("100755 ")


def _remote(where: Path) -> Path:
    """A bare repository to push to; that of a clone without the whole history is made where the clone came from."""
    bare = where.with_name("bare.git")
    source = where.with_name(where.name.removesuffix("-clone"))
    pack = "git -c safe.directory=* upload-pack"
    git(where.parent, "clone", "-q", "--bare", f"--upload-pack={pack}", str(source), str(bare))
    git(where, "remote", "add", "bare", str(bare))
    return bare


async def test_a_large_file_is_no_uncommitted_change_where_its_filter_is_missing(made: Path, tmp_path: Path) -> None:
    folder = copy_of(made, tmp_path / "r")
    lay(folder, {".gitattributes": b"*.bin filter=lfs -text\n", f"{SKILL_PATH}/assets/model.bin": b"large" * 1000})
    os.utime(folder / SKILL_PATH / "assets/model.bin", (1_000, 1_000))  # long before the index
    git(folder, "config", "filter.lfs.clean", "echo pointer")
    git(folder, "config", "filter.lfs.required", "true")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "A large file")
    assert git(folder, "show", f"HEAD:{SKILL_PATH}/assets/model.bin") == "pointer\n"
    git(folder, "config", "filter.lfs.clean", f"touch {mark(folder)}; false")
    (folder / SKILL_PATH / "assets/model.bin").chmod(0o600)  # as a container sees it: another time of the inode
    assert await history_of(folder).dirty() == ()
    lay(folder, {f"{SKILL_PATH}/SKILL.md": b"changed"})
    assert await history_of(folder).dirty() == (f"{SKILL_PATH}/SKILL.md",)
    assert not mark(folder).exists()


async def test_no_program_of_a_submodules_configuration_runs(made: Path, tmp_path: Path) -> None:
    """Git looks into one for changes by a git of its own, which knows no option of the outer one."""
    folder = copy_of(made, tmp_path / "r")
    other = a_repository(tmp_path / "other")
    lay(other, {".gitattributes": b"* filter=mine\n"})
    git(other, "add", "-A")
    git(other, "commit", "-qm", "Filter")
    inner = f"{SKILL_PATH}/vendor"
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), inner)
    git(folder, "commit", "-qm", "Vendor")
    for key in ("filter.mine.clean", "core.fsmonitor"):
        git(folder / inner, "config", key, f"touch {mark(folder)}; false")
    lay(folder, {f"{inner}/.gitattributes": b"* filter=mine -text\n", f"{SKILL_PATH}/SKILL.md": b"changed"})
    assert await history_of(folder).dirty() == (f"{SKILL_PATH}/SKILL.md",)
    assert not mark(folder).exists()
    for key in ("filter.mine.clean", "core.fsmonitor"):
        git(folder / inner, "config", "--unset", key)
    git(folder / inner, "commit", "-qam", "Another version")
    assert await history_of(folder).dirty() == (f"{SKILL_PATH}/SKILL.md", inner)


def test_another_users_repository_is_trusted_by_every_git(tmp_path: Path) -> None:
    """Git 2.35.2 to 2.37, and older ones with that fix, take `safe.directory` from a file alone."""
    assert Git(tmp_path).line("config", "--global", "--get", "safe.directory") == "*"
    assert Git(tmp_path).line("config", "--list", "--show-scope").count("global\t") == 1, "and nothing else"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root writes into the repositories of others")
@pytest.mark.parametrize("kind", ["plain", "linked"])
async def test_what_root_writes_belongs_to_the_repositorys_owner(folder: Path, kind: str) -> None:
    outside = folder.with_name("outside")
    lay(outside, {"x": b"x"})
    where = linked(folder) if kind == "linked" else folder
    for place in {folder, where}:
        given_away(place)
    (folder / ".git/objects/info/link").symlink_to(outside)
    history = history_of(where)
    await work(history, await history.read(await history.base()))
    written = [path for path in (folder / ".git").rglob("*") if path.lstat().st_uid != 65534]
    assert written == [folder / ".git/objects/info/link"] or written == []
    assert {path.stat().st_uid for path in (outside, outside / "x")} == {0}


async def test_a_work_tree_elsewhere_is_looked_at(folder: Path) -> None:
    elsewhere(folder)
    history = history_of(folder)
    tree = folder.with_name("r-tree")
    lay(tree, {name: (folder / name).read_bytes() for name in git(folder, "ls-files", "-z").split("\0")[:-1]})
    assert await history.dirty() == (
        f"{SKILL_PATH}/assets/alias",
        f"{SKILL_PATH}/scripts/run_sh",
    )  # as `lay` makes them
    lay(tree, {f"{SKILL_PATH}/SKILL.md": b"changed"})
    assert f"{SKILL_PATH}/SKILL.md" in await history.dirty()
    git(folder, "config", "--unset", "core.worktree")
    assert await history_of(folder / ".git").dirty() == ()
