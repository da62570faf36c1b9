"""Nothing stays behind: no process, no descriptor, no temporary file, whatever was done and however it ended."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from skills_repo import git as git_module
from skills_repo.curve import curves
from skills_repo.git import Git
from skills_repo.history import RepositoryError
from skills_repo.repository import SkillRepository
from skills_repo.revert import revert
from tests.support.history import PATH, change, long_history, skill_project, step_message, with_lines
from tests.support.processes import children, descriptors, runs
from tests.support.skills import HONED, git
from tests.support.waiting import LONGER_S, until

STEPS = 1_000


def open_things() -> tuple[int, int, list[str]]:
    """How many children and descriptors this process has, and honed's temporary folders."""
    temporary = sorted(path.name for path in Path(tempfile.gettempdir()).glob("honed-*"))
    return children(), descriptors(), temporary


async def every_verb(history: SkillRepository) -> None:
    """What the verbs do, among it what is refused."""
    base = await history.base()
    skill = await history.read(base)
    (made,) = await history.commit_edits(base, [change(skill.with_text(skill.text + "- more\n"), step_message())], 9)
    log = await history.log(STEPS * 2)
    assert len(curves(log)[0].points) == STEPS
    await history.blame(made, "SKILL.md", [1, 2])
    await history.dirty()
    await history.overlooked()
    await revert(history, [log[0]], reason="no", when=10)
    with history.bisection(log[4].sha, made) as search:
        while search.asks is not None:
            search.say("good")
            break
    for wrong in ("refs/heads/nowhere", "0" * 40):
        with pytest.raises(RepositoryError):
            await history.read(wrong)
    git(history.root, "update-ref", history.branch, base)


async def test_a_thousand_steps_and_every_verb_leave_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    folder = tmp_path / "r"
    skill_project(folder, with_lines("- one"))
    long_history(folder, STEPS)
    history = SkillRepository(folder, PATH, author=HONED)
    await every_verb(history)  # threads of the pool and what they hold are there from now on
    before = open_things()
    for _ in range(3):
        await every_verb(history)
    assert open_things() == before
    assert before[2] == []


async def test_a_git_that_takes_too_long_ends_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    pid = tmp_path / "pid"
    program.write_text(f"#!/bin/sh\nsleep 600 & echo $! > {pid}\nwait\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    before = open_things()[:2]
    for timeout_s in LONGER_S:
        monkeypatch.setattr(git_module, "TIMEOUT_S", timeout_s)
        with pytest.raises(RepositoryError, match="took longer than"):
            Git(tmp_path).run("status")
        assert open_things()[:2] == before
        if pid.exists() and pid.read_text():
            break
    child = int(pid.read_text())
    await until(lambda: not runs(child))  # killed it is at once, dead when the kernel comes to it
