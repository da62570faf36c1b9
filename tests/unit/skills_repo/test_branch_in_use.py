"""A branch that somebody else is at work on is left alone, before anything is paid and when it comes to commit."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skills_repo import locks
from skills_repo.history import RepositoryError
from skills_repo.notes import ReportNotes
from skills_repo.refs import Refs
from skills_repo.rejected_refs import RejectedRefs
from skills_repo.repository import SkillRepository
from tests.support.skills import HONED, SKILL_PATH, a_change, a_repository, a_skill, git, history_of, lay
from tests.support.states import fingerprint

NEW = a_skill("\n- new\n")
BRANCH = "honed/xlsx"


async def refused(history: SkillRepository, said: str) -> None:
    """Nothing is committed, nothing changes, and it is known before work is done."""
    before = fingerprint(history.root)
    head = git(history.root, "for-each-ref")
    with pytest.raises(RepositoryError, match=said):
        await history.check_writable()
    with pytest.raises(RepositoryError, match=said) as raised:
        await history.commit_edits(await history.base(), [a_change(NEW)], 100)
    assert "\n" not in str(raised.value)
    assert git(history.root, "for-each-ref") == head
    before.assert_kept(fingerprint(history.root))


def conflicting(folder: Path) -> None:
    """Main and honed's branch conflict."""
    git(folder, "switch", "-qc", BRANCH)
    lay(folder, {"README.md": b"there\n"})
    git(folder, "commit", "-qam", "There")
    git(folder, "switch", "-q", "main")
    lay(folder, {"README.md": b"here\n"})
    git(folder, "commit", "-qam", "Here")


@pytest.mark.parametrize("backend", ["--merge", "--apply"])
@pytest.mark.parametrize("where", ["main", "linked"])
async def test_a_rebase_of_the_branch_can_end(tmp_path: Path, backend: str, where: str) -> None:
    folder = a_repository(tmp_path / "r")
    conflicting(folder)
    tree = folder
    if where == "linked":
        tree = tmp_path / "linked"
        git(folder, "worktree", "add", "-q", "--detach", str(tree))
    with pytest.raises(AssertionError):
        git(tree, "rebase", backend, "main", BRANCH)
    await refused(history_of(folder), rf"{BRANCH} is being rebased \(.*rebase-.*`git rebase --continue` or `--abort`")
    lay(tree, {"README.md": b"both\n"})
    git(tree, "add", "-A")
    git(tree, "rebase", "--continue", GIT_EDITOR="true")
    git(tree, "switch", "-q", "--detach")
    assert len(await history_of(folder).commit_edits(await history_of(folder).base(), [a_change(NEW)], 100)) == 1


async def test_a_rebase_that_takes_the_branch_along_can_end(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    conflicting(folder)
    git(folder, "switch", "-qc", "feature", BRANCH)
    lay(folder, {"other": b"o"})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "More")
    with pytest.raises(AssertionError):
        git(folder, "rebase", "--update-refs", "main")
    await refused(history_of(folder), "is being rebased")


async def test_a_rebase_of_another_branch_is_no_hindrance(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    conflicting(folder)
    git(folder, "branch", "-m", BRANCH, f"{BRANCH}2")
    with pytest.raises(AssertionError):
        git(folder, "rebase", "main", f"{BRANCH}2")
    history = history_of(folder)
    assert len(await history.commit_edits(await history.base(), [a_change(NEW)], 100)) == 1


@pytest.mark.parametrize("target", ["main", "nowhere"])
async def test_another_name_of_a_branch_is_not_followed(tmp_path: Path, target: str) -> None:
    folder = a_repository(tmp_path / "r")
    git(folder, "checkout", "-q", "--detach")
    git(folder, "symbolic-ref", f"refs/heads/{BRANCH}", f"refs/heads/{target}")
    await refused(history_of(folder), rf"is only another name of refs/heads/{target}, .*symbolic-ref --delete")
    git(folder, "symbolic-ref", "--delete", f"refs/heads/{BRANCH}")
    await history_of(folder).check_writable()


def a_twin(folder: Path) -> SkillRepository:
    """Another skill of the same folder name, committed on main."""
    lay(folder / "other/xlsx", a_skill("\n- of another team\n").files)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Another skill of that name")
    return SkillRepository(folder, "other/xlsx", author=HONED)


async def test_two_skills_of_one_folder_name_never_share_a_branch(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    twin, ours = a_twin(folder), history_of(folder)
    await ours.commit_edits(await ours.base(), [a_change(NEW)], 100)
    await refused(twin, rf"holds edits of another skill of that name, {SKILL_PATH}, which HEAD does not have yet")
    await ours.check_writable()
    git(folder, "merge", "-q", BRANCH)
    git(folder, "branch", "-D", BRANCH)
    await twin.commit_edits(await twin.base(), [a_change(a_skill("\n- more\n"))], 100)
    await refused(ours, "another skill of that name, other/xlsx")


async def test_edits_of_a_twin_that_are_merged_are_no_hindrance(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    twin, ours = a_twin(folder), history_of(folder)
    await ours.commit_edits(await ours.base(), [a_change(NEW)], 100)
    git(folder, "merge", "-q", "--no-ff", "--no-edit", BRANCH)
    assert len(await twin.commit_edits(await twin.base(), [a_change(a_skill("\n- more\n"))], 100)) == 1


async def test_a_skill_that_people_moved_keeps_its_branch(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    ours = history_of(folder)
    await ours.commit_edits(await ours.base(), [a_change(NEW)], 100)
    git(folder, "switch", "-q", BRANCH)
    (folder / "other").mkdir()
    git(folder, "mv", SKILL_PATH, "other/xlsx")
    git(folder, "commit", "-qm", "Move the skill")
    git(folder, "switch", "-q", "main")
    moved = SkillRepository(folder, "other/xlsx", author=HONED)
    await moved.check_writable()
    assert len(await moved.commit_edits(await moved.base(), [a_change(a_skill("\n- more\n"))], 100)) == 1


def a_lock(folder: Path, age_s: float, branch: str = BRANCH) -> Path:
    """A lock that a git left so long ago."""
    lock = folder / f".git/refs/heads/{branch}.lock"
    lay(lock.parent, {lock.name: b""})
    then = time.time() - age_s
    os.utime(lock, (then, then))
    return lock


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git does not wait for locks."""
    settings = ("core.filesRefLockTimeout=0", "core.hooksPath=/dev/null")
    monkeypatch.setattr("skills_repo.git._SETTINGS", settings)


@pytest.mark.usefixtures("quick")
async def test_a_young_lock_is_somebody_at_work(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    lock = a_lock(folder, 60)
    await refused(
        history_of(folder), rf"{BRANCH} is locked: {lock} is \d+ s old.*if no git is at work there, `rm {lock}`"
    )
    assert lock.exists()
    os.utime(lock)
    history = history_of(folder)
    await history.check_writable()  # this one may be gone in a moment
    with pytest.raises(RepositoryError, match="is locked"):
        await history.commit_edits(await history.base(), [a_change(NEW)], 100)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("first", ["check_writable", "commit_edits"])
async def test_a_lock_of_a_dead_git_does_not_stop_work_for_good(tmp_path: Path, first: str) -> None:
    folder = a_repository(tmp_path / "r")
    lock, others = a_lock(folder, 3_600), [folder / ".git/index.lock", a_lock(folder, 3_600, "main")]
    others[0].touch()
    history = history_of(folder)
    if first == "check_writable":
        await history.check_writable()
        assert not lock.exists()
    assert len(await history.commit_edits(await history.base(), [a_change(NEW)], 100)) == 1
    assert not lock.exists()
    assert all(other.exists() for other in others), "only honed's own branch is freed"


@pytest.mark.usefixtures("quick")
async def test_a_git_that_runs_there_since_may_hold_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_repository(tmp_path / "r")
    with subprocess.Popen(["git", "cat-file", "--batch"], cwd=folder, stdin=subprocess.PIPE) as process:
        time.sleep(0.05)
        lock = a_lock(folder, 0)
        monkeypatch.setattr(locks, "STALE_S", 0.0)
        monkeypatch.setattr(locks, "MOMENTS_S", -1.0)
        with pytest.raises(RepositoryError, match="is locked"):
            await history_of(folder).check_writable()
        elsewhere = a_repository(tmp_path / "elsewhere")
        free = a_lock(elsewhere, 0)
        await history_of(elsewhere).check_writable()
        assert process.stdin is not None
        process.stdin.close()
        process.wait()
    assert lock.exists()
    assert not free.exists()
    await history_of(folder).check_writable()
    assert not lock.exists()


def test_of_two_that_free_a_branch_the_second_leaves_a_new_lock_alone(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    lock = a_lock(folder, 3_600)
    refs = Refs(history_of(folder)._git, f"refs/heads/{BRANCH}")
    swapped: list[Callable[[], None]] = [lambda: (lock.unlink(), a_lock(folder, 0))]  # type: ignore[list-item,func-returns-value]
    at_work = locks._is_git_at_work

    def meanwhile(root: Path, since: float) -> bool:
        """Just before it is removed, another honed removes it, and its git takes the lock."""
        swapped.pop()()
        return at_work(root, since)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locks, "_is_git_at_work", meanwhile)
        assert not locks.clear(refs)
    assert lock.exists()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", ["refs/notes/honed", "refs/honed/rejected/xlsx/r-1.1"])
async def test_a_lock_of_a_dead_git_on_any_ref_of_honeds_does_not_stop_work_for_good(tmp_path: Path, name: str) -> None:
    folder = a_repository(tmp_path / "r")
    head = git(folder, "rev-parse", "HEAD").strip()

    async def written() -> None:
        if name.startswith("refs/notes"):
            await ReportNotes(folder, author=HONED).append(head, "A report", when=100)
        else:
            await RejectedRefs(folder, SKILL_PATH, author=HONED).keep(
                "r-1.1", head, (a_change(NEW),), by="gate", when=1
            )

    lock = folder / f".git/{name}.lock"
    lay(lock.parent, {lock.name: b""})
    with pytest.raises(RepositoryError, match=rf"is locked: {lock} is .*`rm {lock}`"):
        await written()
    os.utime(lock, (1, 1))
    await written()
    assert git(folder, "rev-parse", "--verify", name).strip()
    assert not lock.exists()
