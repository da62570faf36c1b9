"""Asking the remote: what is brought here, what is left alone, and what becomes of failures."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from daemon.config import Config, ConfigError
from daemon.notices.fetcher import FIRST_S, LONGEST_S, Fetcher
from daemon.notices.seen import Seen
from skills_repo.publish.errors import PublishError
from skills_repo.publish.publisher import Publisher
from tests.support.honed_cli import git
from tests.support.notices import BRANCH, Watched, a_watched

FETCHED = "refs/honed/fetched/origin"


class Learner:
    """A publisher that only counts, and fails on demand."""

    def __init__(self) -> None:
        self.learned = 0
        self.closed = 0
        self.fault: Exception | None = None

    async def learn(self) -> tuple[Any, ...]:
        """As a publisher does."""
        self.learned += 1
        if self.fault is not None:
            raise self.fault
        return ()

    @asynccontextmanager
    async def opened(self, _: Config) -> AsyncIterator[Publisher]:
        """In place of `open_publisher`."""
        try:
            yield cast("Publisher", self)
        finally:
            self.closed += 1


class Clock:
    """Goes when it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def origin(tmp_path: Path) -> Watched:
    """What others push to, though it is a work tree here."""
    return a_watched(tmp_path / "origin")


@pytest.fixture
async def clone(origin: Watched, tmp_path: Path) -> Watched:
    """A clone of it that was looked at."""
    git(tmp_path, "clone", "--quiet", str(origin.folder), "clone")
    made = Watched(tmp_path / "clone")
    assert await made.kinds() == ["new"]
    return made


def refs(folder: Path) -> dict[str, str]:
    """All refs but honed's own."""
    rows = git(folder, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(row.split(" ") for row in rows if not row.startswith("refs/honed/"))


async def test_only_a_ref_of_honeds_own_moves(origin: Watched, clone: Watched) -> None:
    before = refs(clone.folder)
    sha = origin.commit("Say it shorter", "- one")
    assert await Fetcher().fetch(clone.project) == ""
    assert git(clone.folder, "rev-parse", FETCHED) == sha
    assert refs(clone.folder) == before
    assert not (clone.folder / ".git" / "FETCH_HEAD").exists()
    assert git(clone.folder, "status", "--porcelain") == ""


async def test_edits_merged_there_are_a_cause_and_pulling_them_is_none(origin: Watched, clone: Watched) -> None:
    await Fetcher().fetch(clone.project)
    edit = await clone.accept("- four")
    assert await clone.causes() == ()
    git(clone.folder, "push", "--quiet", "origin", BRANCH)
    git(origin.folder, "merge", "--quiet", "--ff-only", BRANCH)
    await Fetcher().fetch(clone.project)
    [there] = await clone.causes()
    assert (there.kind, there.key) == ("request", f"merged {edit}")
    git(clone.folder, "pull", "--quiet", "--ff-only", "origin", "main")
    assert await clone.causes() == ()


async def test_the_configured_base_branch_counts(origin: Watched, clone: Watched) -> None:
    git(origin.folder, "switch", "--quiet", "--create", "release")
    sha = origin.commit("Say it shorter", "- one")
    clone.change_config("[train]", '[publish]\nbase = "release"\n\n[train]')
    assert await Fetcher().fetch(Watched(clone.folder).project) == ""
    assert git(clone.folder, "rev-parse", FETCHED) == sha


async def bare_of(origin: Watched, tmp_path: Path) -> Watched:
    """A project whose skill lies in a bare clone of `origin`."""
    git(tmp_path, "clone", "--quiet", "--bare", str(origin.folder), "bare")
    project = a_watched(tmp_path / "project")
    project.change_config('path = "skills/xlsx"', 'path = "skills/xlsx"\nrepository = "../bare"')
    made = Watched(project.folder)
    assert await made.kinds() == ["new"]
    return made


async def test_a_bare_repository_is_brought_forward(origin: Watched, tmp_path: Path) -> None:
    bare = await bare_of(origin, tmp_path)
    sha = origin.commit("Say it shorter", "- one")
    await Fetcher().fetch(bare.project)
    assert [(one.kind, one.key) for one in await bare.causes()] == [("skill", sha)]
    assert git(tmp_path / "bare", "rev-parse", "main") == sha
    assert Seen.from_data(bare.seen.to_data() if bare.seen else None) == bare.seen


async def test_a_bare_repository_is_never_led_aside(origin: Watched, tmp_path: Path) -> None:
    bare = await bare_of(origin, tmp_path)
    before = refs(tmp_path / "bare")
    git(origin.folder, "commit", "--quiet", "--amend", "--message", "Another start")
    assert await Fetcher().fetch(bare.project) == ""
    assert refs(tmp_path / "bare") == before


async def test_a_bare_repository_with_a_head_of_its_own_is_left_alone(origin: Watched, tmp_path: Path) -> None:
    bare = await bare_of(origin, tmp_path)
    git(tmp_path / "bare", "branch", "other")
    git(tmp_path / "bare", "symbolic-ref", "HEAD", "refs/heads/other")
    before = refs(tmp_path / "bare")
    origin.commit("Say it shorter", "- one")
    assert await Fetcher().fetch(bare.project) == ""
    assert refs(tmp_path / "bare") == before


async def test_no_remote_and_no_branch_are_said(origin: Watched, clone: Watched) -> None:
    assert "no git remote origin" in await Fetcher().fetch(origin.project)
    clone.change_config("[train]", '[publish]\nbase = "gone"\n\n[train]')
    assert "no branch gone on origin" in await Fetcher().fetch(Watched(clone.folder).project)


async def test_failures_are_said_once_and_asked_again_after_growing_pauses(origin: Watched, clone: Watched) -> None:
    clock = Clock()
    fetcher = Fetcher(clock=clock)
    away = origin.folder.rename(origin.folder.with_name("away"))
    with capture_logs() as logs:
        asked = 0
        for _ in range(2_000):
            said = await fetcher.fetch(clone.project) if clock.now in pauses(11) else ""
            asked += bool(said)
            clock.now += FIRST_S
        assert asked == 11
        assert [line["event"] for line in logs] == ["the remote could not be asked"]
        before = git(clone.folder, "rev-parse", "HEAD")
        away.rename(origin.folder)
        clock.now += LONGEST_S
        assert await fetcher.fetch(clone.project) == ""
    assert git(clone.folder, "rev-parse", FETCHED) == before
    assert [line["event"] for line in logs][1:] == ["the remote answers again"]


def pauses(count: int) -> set[float]:
    """When it is asked again."""
    found, now = set(), 0.0
    for turn in range(count):
        found.add(now)
        now += min(FIRST_S * 2**turn, LONGEST_S)
    return found


async def test_within_a_pause_nobody_is_asked_and_it_is_still_said(origin: Watched, clone: Watched) -> None:
    clock = Clock()
    fetcher = Fetcher(clock=clock)
    away = origin.folder.rename(origin.folder.with_name("away"))
    said = await fetcher.fetch(clone.project)
    assert said
    away.rename(origin.folder)
    clock.now = FIRST_S - 1
    assert await fetcher.fetch(clone.project) == said
    clock.now = FIRST_S
    assert await fetcher.fetch(clone.project) == ""


async def test_requests_are_asked_about_where_there_are_any(clone: Watched) -> None:
    learner = Learner()
    fetcher = Fetcher(opening=learner.opened)
    assert await fetcher.fetch(clone.project) == ""
    assert learner.learned == 0
    clone.change_config("[train]", '[publish]\nmode = "pull-request"\n\n[train]')
    project = Watched(clone.folder).project
    assert await fetcher.fetch(project) == ""
    assert (learner.learned, learner.closed) == (1, 1)


@pytest.mark.parametrize("fault", [PublishError("the forge is down"), ConfigError("the token is missing")])
async def test_a_forge_that_fails_keeps_nothing_else_back(origin: Watched, clone: Watched, fault: Exception) -> None:
    clone.change_config("[train]", '[publish]\nmode = "pull-request"\n\n[train]')
    learner = Learner()
    learner.fault = fault
    fetcher = Fetcher(opening=learner.opened)
    sha = origin.commit("Say it shorter", "- one")
    project = Watched(clone.folder).project
    assert await fetcher.fetch(project) == str(fault)
    assert git(clone.folder, "rev-parse", FETCHED) == sha
    assert await fetcher.fetch(project) == str(fault)
    assert (learner.learned, learner.closed) == (1, 1)


async def test_a_fault_of_ours_is_not_hidden(clone: Watched) -> None:
    clone.change_config("[train]", '[publish]\nmode = "pull-request"\n\n[train]')
    learner = Learner()
    learner.fault = KeyError("ours")
    with pytest.raises(KeyError):
        await Fetcher(opening=learner.opened).fetch(Watched(clone.folder).project)
