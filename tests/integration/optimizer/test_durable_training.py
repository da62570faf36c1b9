"""The loop on a real SQLite file and a real git repository: killed on the way, it leaves the same commits."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from daemon.config_train import TrainSection
from daemon.journal.sqlite import SqliteJournal
from daemon.optimizer.report import RunReport
from skills_repo.history import Author
from skills_repo.repository import SkillRepository
from tests.support.optimizer import Killed, MortalJournal, World, WorldHarness, make_skill, task_set


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


def git(root: Path, *args: str) -> str:
    identity = ["-c", "user.name=A Person", "-c", "user.email=person@example.com"]
    done = subprocess.run(["git", "-C", str(root), *identity, *args], check=True, capture_output=True, text=True)
    return done.stdout.strip()


class Place:
    """A folder with a repository, a state file and a world."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "repository"
        skill = self.root / "skills" / "demo"
        skill.mkdir(parents=True)
        skill.joinpath("SKILL.md").write_text(make_skill().text)
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "add", ".")
        when = "2026-01-01T00:00:00Z"
        subprocess.run(
            [
                "git",
                "-C",
                str(self.root),
                "-c",
                "user.name=A",
                "-c",
                "user.email=a@example.com",
                "commit",
                "-qm",
                "Add",
            ],
            check=True,
            env={**os.environ, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when},
        )
        tasks = task_set(4, 4, 2)
        needs = {task.id: ["rule-b" if int(task.id[-2:]) % 2 else "rule-a"] for task in tasks.tasks}
        knobs = TrainSection(gate="strict", epochs=3, batch=2, minibatch=2, edit_budget=1, min_edit_budget=1, seed=1)
        self.world = World(folder / "attempts", WorldHarness(needs), tasks, train=knobs)
        self.world.history = SkillRepository(self.root, "skills/demo", author=Author("honed", "honed@localhost"))

    async def train(self, at: int | None = None) -> RunReport:
        """One process; it dies at its `at`-th write."""
        journal = SqliteJournal(self.folder / "journal.sqlite")
        self.world.journal = MortalJournal(journal, at, before=bool(at and at % 2))
        try:
            return await self.world.training().run()
        finally:
            await journal.close()


async def test_killed_again_and_again_it_leaves_the_same_commits(tmp_path: Path) -> None:
    plain = Place(tmp_path / "plain")
    expected = await plain.train()
    assert len(expected.commits) == 2
    killed = Place(tmp_path / "killed")
    kills = 0
    report = None
    while report is None:
        try:
            report = await killed.train(at=7 + kills % 5)
        except Killed:
            kills += 1
            assert kills < 100
    assert kills >= 5
    assert report.resumed
    assert report.commits == expected.commits
    assert report.test == expected.test
    head = git(killed.root, "rev-parse", "honed/demo")
    assert head == report.commits[-1]
    assert git(killed.root, "log", "--format=%H", "main..honed/demo").split() == list(reversed(report.commits))
    assert git(killed.root, "status", "--porcelain") == ""
