"""Honed and people on one remote, in any order: no commit of a person is lost, and honed moves no branch backwards."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from skills_repo.publish.errors import PublishError
from skills_repo.publish.outcome import Outcome
from tests.support.publishing import BRANCH, Work, a_clone, publisher, refs
from tests.support.skills import git

REF = f"refs/heads/{BRANCH}"


class Town:
    """A remote, honed's clone and a person's."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.bare = folder / "remote.git"
        git(folder, "init", "-q", "--bare", "-b", "main", str(self.bare))
        self.work: Work = a_clone(folder / "work", str(self.bare))
        self.person = folder / "person"
        git(folder, "clone", "-q", str(self.bare), str(self.person))
        self.step = 0
        self.theirs: list[str] = []
        """Commits that the person has pushed."""

    async def accept(self) -> None:
        """Honed keeps an edit."""
        self.step += 1
        await self.work.accept(f"- rule {self.step}", step=self.step)

    async def publish(self) -> None:
        """Honed publishes: whatever comes of it, its own move of the branch is a step forward."""
        before = refs(self.bare).get(REF)
        done = await publisher(self.work).publish()
        after = refs(self.bare).get(REF)
        if done.outcome is not Outcome.PUSHED:
            assert after == before, done.outcome
        elif before is not None:
            assert after == self.work.head
            git(self.bare, "merge-base", "--is-ancestor", before, REF)

    async def push(self) -> None:
        """The person commits on the branch, or merges it with what they had, and pushes."""
        if REF not in refs(self.bare):
            return
        git(self.person, "fetch", "-q", "origin")
        git(self.person, "checkout", "-q", "-B", "mine", f"origin/{BRANCH}")
        git(self.person, "commit", "-q", "--allow-empty", "-m", f"Mine {len(self.theirs)}")
        git(self.person, "push", "-q", "origin", f"mine:{BRANCH}")
        self.theirs.append(git(self.person, "rev-parse", "HEAD").strip())

    async def take_over(self) -> None:
        """Whoever runs honed merges what the person pushed, as honed advises."""
        if REF in refs(self.bare):
            git(self.work.folder, "fetch", "-q", "origin", BRANCH)
            theirs = git(self.work.folder, "rev-parse", "FETCH_HEAD").strip()
            self.work.person("", "merge", "-q", "--no-edit", "-X", "ours", theirs)

    async def merge(self) -> None:
        """The person merges the branch into main there."""
        if REF in refs(self.bare):
            git(self.person, "fetch", "-q", "origin")
            git(self.person, "checkout", "-q", "-B", "trunk", "origin/main")
            git(self.person, "merge", "-q", "--no-ff", "--no-edit", f"origin/{BRANCH}")
            git(self.person, "push", "-q", "origin", "trunk:main")


@pytest.mark.parametrize("seed", range(4))
async def test_any_order_of_acts_loses_nothing(tmp_path: Path, seed: int) -> None:
    town = Town(tmp_path, seed)
    await town.accept()
    acts: list[Callable[[], object]] = [town.accept, town.publish, town.publish, town.push, town.take_over, town.merge]
    for _ in range(14):
        try:
            await town.random.choice(acts)()  # type: ignore[misc]
        except PublishError as error:
            pytest.fail(f"seed {seed}: {error}")
        for commit in town.theirs:
            git(town.bare, "merge-base", "--is-ancestor", commit, REF)
    await town.take_over()
    await town.publish()
    here = refs(town.bare)
    git(town.bare, "merge-base", "--is-ancestor", town.work.head, REF if here[REF] == town.work.head else "main")
    assert git(town.bare, "fsck", "--strict", "--no-dangling") == ""
