"""`kill -9` between any two git commands: started again, no commit is lost and none is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from skills_repo import committing
from skills_repo import log as logs
from skills_repo.git import Git
from skills_repo.history import EditCommit, RepositoryError
from skills_repo.refs import Refs
from tests.support.skills import HONED, SKILL_PATH, a_change, a_repository, a_skill, git, history_of
from tests.support.states import copy_of, fingerprint

BRANCH = "refs/heads/honed/xlsx"
STEP = ("r-1", 1, "step")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_repository(tmp_path_factory.mktemp("template") / "r")


def changes() -> tuple[EditCommit, ...]:
    """A step of two edits."""
    stages = (a_skill("\n- one\n"), a_skill("\n- one\n", references__a_md=b"a"))
    return tuple(a_change(skill, position=number, of=2) for number, skill in enumerate(stages, start=1))


def commit_once(folder: Path) -> tuple[str, ...]:
    """What a run does at a step, before and after a crash: look for the commits, make them if they are not there."""
    refs = Refs(Git(folder), BRANCH)
    head = refs.head()
    found = () if head is None else logs.find_step(refs.git, head, SKILL_PATH, STEP)
    if found:
        return found
    return committing.commit_edits(refs, SKILL_PATH, refs.base(), changes(), author=HONED, when=100)


def killed_at(number: int, work: Callable[[], object], *, before: bool) -> bool:
    """Run the work in a process that kills itself at so many git commands; true if it came to that."""
    child = os.fork()
    if child == 0:
        calls = count(1)
        real = Git.run

        def counted(self: Git, *argv: str, **more: Any) -> bytes:
            mine = next(calls) == number
            if mine and before:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return real(self, *argv, **more)
            finally:
                if mine:
                    os.kill(os.getpid(), signal.SIGKILL)

        try:
            Git.run = counted  # type: ignore[method-assign]
            work()
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in (0, -signal.SIGKILL)
    return os.WIFSIGNALED(status)


def kills(made: Path, place: Path) -> Iterator[tuple[Path, bool]]:
    """A repository after a kill at the first, the second, … git command, until the work comes to its end."""
    for number in count(1):
        folder = copy_of(made, place / f"r{number}")
        died = killed_at(number, lambda folder=folder: commit_once(folder), before=number == 1)  # type: ignore[misc]
        yield folder, died
        if not died:
            return


@pytest.mark.slow
def test_a_step_is_committed_once_wherever_the_process_was_killed(made: Path, tmp_path: Path) -> None:
    number, seen = 0, set()
    untouched = fingerprint(made)
    for number, (folder, died) in enumerate(kills(made, tmp_path), start=1):
        left = git(folder, "rev-list", "--count", "--all").strip()
        assert left in ("1", "3"), "a step's edits are there together or not at all"
        seen.add((left, died))
        if number % 5 == 0:  # and the one that goes on is killed, too
            killed_at(number // 2 + 1, lambda folder=folder: commit_once(folder), before=False)  # type: ignore[misc]
        commits = commit_once(folder)
        assert git(folder, "rev-list", "--reverse", "HEAD..honed/xlsx").split() == list(commits)
        assert len(commits) == 2
        assert not list(folder.rglob("*.lock"))
        if number % 5 == 0:
            assert commit_once(folder) == commits
            now = fingerprint(folder)
            assert (now.status, now.refs, now.findings) == (untouched.status, untouched.refs, untouched.findings)
    assert number > 15
    assert seen == {("1", True), ("3", True), ("3", False)}


def a_git_killed_while_it_moves_the_branch(folder: Path) -> Path:
    """Leaves the lock that git took, as `kill -9` or a machine that goes down does."""
    head = git(folder, "rev-parse", "HEAD").strip()
    with subprocess.Popen(
        ["git", "update-ref", "--stdin"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"start\ncreate {BRANCH} {head}\nprepare\n")
        process.stdin.flush()
        assert [process.stdout.readline() for _ in range(2)] == ["start: ok\n", "prepare: ok\n"]
        process.kill()
    return folder / ".git" / f"{BRANCH}.lock"


async def test_a_git_killed_while_it_moves_the_branch_is_named_and_does_not_stop_work_for_good(
    made: Path, tmp_path: Path
) -> None:
    folder = copy_of(made, tmp_path / "r")
    lock = a_git_killed_while_it_moves_the_branch(folder)
    assert lock.exists()
    history = history_of(folder)
    base = await history.base()
    with pytest.raises(RepositoryError, match=rf"{lock} is .*`rm {lock}`"):
        await history.commit_edits(base, changes(), 100)
    assert await history.find_step(*STEP) == ()
    then = time.time() - 3_600
    os.utime(lock, (then, then))
    commits = await history.commit_edits(base, changes(), 100)
    assert await history.find_step(*STEP) == commits
    assert git(folder, "rev-list", "--count", f"HEAD..{BRANCH}").strip() == "2"
    git(folder, "branch", "-D", "honed/xlsx")


async def test_a_git_killed_while_it_packs_or_writes_is_no_hindrance(made: Path, tmp_path: Path) -> None:
    folder = copy_of(made, tmp_path / "r")
    for name in ("packed-refs.lock", "index.lock", "HEAD.lock", "config.lock", "refs/heads/main.lock", "gc.pid.lock"):
        (folder / ".git" / name).touch()
    (folder / ".git/objects/5f").mkdir(exist_ok=True)
    (folder / ".git/objects/5f/tmp_obj_x").write_bytes(b"half an obj")
    history = history_of(folder)
    commits = await history.commit_edits(await history.base(), changes(), 100)
    assert await history.find_step(*STEP) == commits
