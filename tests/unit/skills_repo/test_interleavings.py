"""Honed and people at work on the same branches: no commit of a person's is lost, and honed moves nothing back.

The two hundred are drawn from a seed: while honed commits, right before one of its git commands, a person does
something. The truly concurrent part below has threads and a clone that pushes.
"""

from __future__ import annotations

import random
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from skills_repo import committing
from skills_repo.git import Git, GitFailedError
from skills_repo.history import RefMovedError, RepositoryError
from skills_repo.objects import read_skill
from skills_repo.refs import Refs
from tests.support.skills import HONED, a_change, a_skill, git, lay

BRANCH, MAIN = "refs/heads/honed/xlsx", "refs/heads/main"
ROUNDS = 200
PERSON = ("-c", "user.name=A Person", "-c", "user.email=person@example.com")


def a_small_repository(folder: Path) -> Path:
    """The skill at the top and one more file; HEAD is on main."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    lay(folder, {"README.md": b"r\n"})
    lay(folder / "xlsx", a_skill().files)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add the skill")
    return folder


@dataclass
class Person:
    """Somebody who works by plumbing, which is quick, and remembers where each branch was left."""

    folder: Path
    chance: random.Random
    left: dict[str, str | None] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)

    def git(self, *argv: str) -> str:
        return subprocess.run(
            ["git", *PERSON, *argv], cwd=self.folder, capture_output=True, text=True, check=True
        ).stdout.strip()

    def refs(self) -> dict[str, str]:
        rows = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(row.split() for row in rows)

    def act(self) -> None:
        """Something at random; afterwards `left` says where the branches are."""
        refs = self.refs()
        branch = BRANCH if BRANCH in refs and self.chance.random() < 0.7 else MAIN
        acts: list[Callable[[str, str], None]] = [self.commit, self.commit, self.amend, self.revert, self.tidy]
        if branch == BRANCH:
            acts += [self.rebase, self.back, self.delete]
        chosen = self.chance.choice(acts)
        chosen(branch, refs[branch])
        self.done[f"{chosen.__name__} {branch.rsplit('/', 1)[1]}"] += 1
        now = self.refs()
        self.left = {name: now.get(name) for name in (MAIN, BRANCH)}

    def commit(self, branch: str, head: str) -> None:
        """A commit with the files of now, or of some time ago."""
        line = self.git("rev-list", "--max-count=6", head).split()
        self._put(branch, head, self._made(f"{self.chance.choice(line)}^{{tree}}", [head], "By hand"))

    def amend(self, branch: str, head: str) -> None:
        """Another commit in the place of the newest."""
        parents = self.git("rev-list", "--parents", "--max-count=1", head).split()[1:]
        self._put(branch, head, self._made(f"{head}^{{tree}}", parents, f"Amended {self.chance.random()}"))

    def revert(self, branch: str, head: str) -> None:
        """As before the newest commit, which stays."""
        parents = self.git("rev-list", "--parents", "--max-count=1", head).split()[1:]
        if parents:
            text = f'Revert "x"\n\nThis reverts commit {head}.'
            self._put(branch, head, self._made(f"{parents[0]}^{{tree}}", [head], text))

    def rebase(self, branch: str, head: str) -> None:
        """The newest two commits of honed's branch on top of main."""
        onto = self.git("rev-parse", MAIN)
        for commit in reversed(self.git("rev-list", "--max-count=2", f"{MAIN}..{head}").split()):
            onto = self._made(f"{commit}^{{tree}}", [onto], f"Rebased {commit}")
        self._put(branch, head, onto)

    def back(self, branch: str, head: str) -> None:
        """The branch is reset."""
        parents = self.git("rev-list", "--parents", "--max-count=1", head).split()[1:]
        self._put(branch, head, parents[0] if parents else head)

    def delete(self, branch: str, head: str) -> None:
        """The branch goes."""
        self.git("update-ref", "-d", branch, head)

    def tidy(self, branch: str, head: str) -> None:
        """Refs and objects are packed."""
        del branch, head
        self.git(*self.chance.choice((["pack-refs", "--all"], ["repack", "-dq"], ["gc", "-q"])))

    def _made(self, tree: str, parents: list[str], message: str) -> str:
        return self.git("commit-tree", tree, *(part for one in parents for part in ("-p", one)), "-m", message)

    def _put(self, branch: str, old: str, new: str) -> None:
        self.git("update-ref", branch, new, old)


@dataclass
class Interrupted:
    """`Git.run`, before one of whose calls the person acts."""

    person: Person
    at: int
    real: Callable[..., bytes]
    calls: int = 0

    def run(self, me: Git, *argv: str, **more: Any) -> bytes:
        self.calls += 1
        if self.calls == self.at:
            self.person.act()
        return self.real(me, *argv, **more)


def commit(folder: Path, number: int) -> tuple[str, tuple[str, ...]]:
    """One accepted edit, as a run commits it; where it started from and what it made."""
    refs = Refs(Git(folder), BRANCH)
    parent = refs.base()
    skill = read_skill(refs.git, parent, "xlsx")
    change = a_change(skill.with_text(skill.text + f"- rule {number}\n"), step=number)
    return parent, committing.commit_edits(refs, "xlsx", parent, (change,), author=HONED, when=1_000 + number)


@pytest.mark.slow
def test_two_hundred_interleavings_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = a_small_repository(tmp_path / "r")
    chance = random.Random(20_261_130)
    person = Person(folder, chance)
    real = Git.run
    came_to: Counter[str] = Counter()
    for number in range(ROUNDS):
        before = person.refs()
        person.left = {name: before.get(name) for name in (MAIN, BRANCH)}
        shim = Interrupted(person, chance.randint(1, 30), real)
        with monkeypatch.context() as patch:
            patch.setattr(Git, "run", lambda me, *argv, shim=shim, **more: shim.run(me, *argv, **more))
            try:
                parent, made = commit(folder, number)
            except RefMovedError:
                came_to["moved"] += 1
                made = ()
            except (RepositoryError, GitFailedError):  # the latter becomes the former in `SkillRepository`
                came_to["refused"] += 1
                made = ()
        now = person.refs()
        assert now[MAIN] == person.left[MAIN], "honed never moves main"
        if not made:
            assert now.get(BRANCH) == person.left[BRANCH], "what people left is as they left it"
            continue
        came_to["made"] += 1
        assert person.git("rev-list", "--parents", "--max-count=1", made[0]) == f"{made[0]} {parent}", "in one line"
        if shim.calls >= shim.at and now.get(BRANCH) != made[0]:
            came_to["a person after it"] += 1  # acted after the branch had moved
            assert now.get(BRANCH) == person.left[BRANCH]
            continue
        assert now[BRANCH] == made[0]
        assert person.left[BRANCH] in (None, parent, made[0]), "the branch went on from where it was left"
    assert person.git("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert min(came_to["made"], came_to["moved"]) >= 20, came_to
    assert len(person.done) >= 11, person.done


def in_turns(folder: Path, times: int, made: list[str]) -> None:
    """A person in the same repository, by compare-and-swap as `git commit` does it."""
    person = Person(folder, random.Random(1))
    while len(made) < times:
        head = person.refs().get(BRANCH)
        if head is None:
            continue
        new = person._made(f"{head}^{{tree}}", [head], f"By hand {len(made)}")
        done = subprocess.run(["git", "update-ref", BRANCH, new, head], cwd=folder, capture_output=True, check=False)
        if done.returncode == 0:
            made.append(new)


def pushing(folder: Path, clone: Path, times: int, made: list[str]) -> None:
    """Another clone that fetches, commits and pushes to honed's branch, never by force."""
    git(folder.parent, "clone", "-q", str(folder), str(clone))
    person = Person(clone, random.Random(2))
    while len(made) < times:
        git(clone, "fetch", "-q", "origin", BRANCH)
        new = person._made("FETCH_HEAD^{tree}", ["FETCH_HEAD"], f"From afar {len(made)}")
        push = ["git", "push", "-q", "origin", f"{new}:{BRANCH}"]
        if subprocess.run(push, cwd=clone, capture_output=True, check=False).returncode == 0:
            made.append(new)


def committing_on(folder: Path, times: int, made: list[str], failed: list[str]) -> None:
    """Honed, which starts again from what is there whenever somebody was faster."""
    while len(made) < times:
        try:
            made.extend(commit(folder, len(made))[1])
        except RefMovedError as error:
            failed.append(str(error))


@pytest.mark.slow
def test_people_honed_and_a_pushing_clone_at_once_keep_every_commit(tmp_path: Path) -> None:
    folder = a_small_repository(tmp_path / "r")
    honed = list(commit(folder, 0)[1])
    here: list[str] = []
    afar: list[str] = []
    failed: list[str] = []
    threads = [
        threading.Thread(target=committing_on, args=(folder, 15, honed, failed)),
        threading.Thread(target=in_turns, args=(folder, 12, here)),
        threading.Thread(target=pushing, args=(folder, tmp_path / "clone", 6, afar)),
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        subprocess.run(["git", "pack-refs", "--all"], cwd=folder, capture_output=True, check=False)
        subprocess.run(["git", "gc", "-q"], cwd=folder, capture_output=True, check=False)
        threads[0].join(0.5)
    assert (len(honed), len(here), len(afar)) == (15, 12, 6)
    line = git(folder, "rev-list", BRANCH, "--not", MAIN).split()
    assert sorted(line) == sorted([*honed, *here, *afar]), "all that were made, each once, and nothing else"
    assert git(folder, "rev-list", "--merges", BRANCH) == ""
    assert git(folder, "fsck", "--strict", "--no-dangling", "--no-progress") == ""
