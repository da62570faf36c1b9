"""Looks at the skill of a real project on real git: what people and honed do, and what comes of it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from daemon.notices import tasks as tasks_module
from daemon.notices.fetcher import Fetcher
from daemon.notices.look import look
from daemon.notices.seen import Seen
from daemon.tasks.task import TaskSet
from skills_repo.processes import run_to_end
from tests.support.history import PATH
from tests.support.honed_cli import git
from tests.support.notices import BRANCH, Watched, a_watched

FIRST = ("- one", "- two", "- three")


async def test_nothing_happened(watched: Watched) -> None:
    assert await watched.causes() == ()
    assert await watched.causes() == ()


async def test_an_idle_look_runs_two_processes_and_loads_no_tasks(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks_module, "_SETTLED_NS", 0)
    await watched.causes()
    ran: list[object] = []

    def counted(argv: Sequence[str], *more: Any, **how: Any) -> tuple[int, bytes, bytes]:
        ran.append(argv)
        return run_to_end(argv, *more, **how)

    monkeypatch.setattr("skills_repo.git.run_to_end", counted)

    def never(*_: object, **__: object) -> TaskSet:
        raise AssertionError("loaded")

    monkeypatch.setattr(tasks_module, "load_tasks", never)
    assert await watched.causes() == ()
    assert len(ran) == 2


async def test_honeds_own_edits_are_no_cause(watched: Watched) -> None:
    await watched.accept("- four")
    assert await watched.causes() == ()
    await watched.accept("- five", step=2)
    assert await watched.causes() == ()


async def test_a_persons_commit_to_head(watched: Watched) -> None:
    sha = watched.commit("Say it shorter", "- one")
    [cause] = await watched.causes()
    assert (cause.kind, cause.key) == ("skill", sha)
    assert cause.detail == "a person changed the skill on HEAD: Say it shorter"
    assert await watched.causes() == ()


async def test_a_commit_beside_the_skill_is_no_cause(watched: Watched) -> None:
    (watched.folder / "README.md").write_text("hello\n")
    git(watched.folder, "add", "--all")
    git(watched.folder, "commit", "--quiet", "--message", "Add a page")
    assert await watched.causes() == ()


async def test_a_work_trees_own_state_is_no_cause(watched: Watched) -> None:
    watched.write("- one")
    assert await watched.causes() == ()


async def test_a_persons_commit_to_the_branch(watched: Watched) -> None:
    await watched.accept("- four")
    await watched.causes()
    sha = watched.on_branch("commit", "--quiet", "--all", "--message", "Add a rule", lines=(*watched.lines, "- mine"))
    [cause] = await watched.causes()
    assert (cause.kind, cause.key) == ("skill", sha)
    assert await watched.causes() == ()


async def test_an_edit_of_honeds_that_a_person_amended(watched: Watched) -> None:
    await watched.accept("- four")
    await watched.causes()
    sha = watched.on_branch("commit", "--quiet", "--all", "--amend", "--no-edit", lines=("- one", "- four at most"))
    assert [(one.kind, one.key) for one in await watched.causes()] == [("skill", sha)]


async def test_a_persons_edit_that_honed_follows_is_one_cause(watched: Watched) -> None:
    await watched.accept("- four")
    await watched.causes()
    sha = watched.commit("Put one first", "- zero", "- one", "- two", "- three")
    assert [(one.kind, one.key) for one in await watched.causes()] == [("skill", sha)]
    followed = await watched.history.follow(max_chars=20_000)
    assert followed is not None
    assert len(followed.edits) == 1
    assert await watched.causes() == ()


async def test_following_at_once_is_one_cause(watched: Watched) -> None:
    await watched.accept("- four")
    await watched.causes()
    sha = watched.commit("Put one first", "- zero", "- one", "- two", "- three")
    await watched.history.follow(max_chars=20_000)
    assert [(one.kind, one.key) for one in await watched.causes()] == [("skill", sha)]
    assert await watched.causes() == ()


async def test_following_a_version_that_takes_all_edits_back(watched: Watched) -> None:
    await watched.accept("- four")
    await watched.causes()
    watched.commit("Write it anew", "- quite another thing")
    assert await watched.kinds() == ["skill"]
    await watched.history.follow(max_chars=20_000)
    assert await watched.causes() == ()


async def test_a_revert_on_the_branch(watched: Watched) -> None:
    edit = await watched.accept("- four")
    await watched.causes()
    sha = watched.on_branch("revert", "--no-edit", edit)
    [cause] = await watched.causes()
    assert (cause.kind, cause.key) == ("taken-back", sha)
    assert "took an edit back" in cause.detail
    assert await watched.causes() == ()


async def test_a_revert_of_a_persons_commit_is_a_change(watched: Watched) -> None:
    sha = watched.commit("Say it shorter", "- one")
    await watched.causes()
    git(watched.folder, "revert", "--no-edit", sha)
    head = git(watched.folder, "rev-parse", "HEAD")
    assert [(one.kind, one.key) for one in await watched.causes()] == [("skill", head)]


async def test_a_revert_that_was_taken_back_is_a_change(watched: Watched) -> None:
    edit = await watched.accept("- four")
    revert = watched.on_branch("revert", "--no-edit", edit)
    assert await watched.kinds() == ["taken-back"]
    again = watched.on_branch("revert", "--no-edit", revert)
    assert [(one.kind, one.key) for one in await watched.causes()] == [("skill", again)]


@pytest.mark.parametrize("how", [("--ff-only",), ("--no-ff", "--no-edit")], ids=["fast-forward", "merge commit"])
async def test_merging_honeds_edits(watched: Watched, how: tuple[str, ...]) -> None:
    edit = await watched.accept("- four")
    await watched.causes()
    git(watched.folder, "merge", "--quiet", *how, BRANCH)
    assert [(one.kind, one.key) for one in await watched.causes()] == [("request", f"merged {edit}")]
    assert await watched.causes() == ()


async def test_squashing_honeds_edits(watched: Watched) -> None:
    await watched.accept("- four")
    await watched.accept("- five", step=2)
    await watched.causes()
    git(watched.folder, "merge", "--quiet", "--squash", BRANCH)
    said = git(watched.folder, "log", "--format=%B", f"HEAD..{BRANCH}")
    git(watched.folder, "commit", "--quiet", "--message", f"Honed edits (#1)\n\n{said}")
    sha = git(watched.folder, "rev-parse", "HEAD")
    assert [(one.kind, one.key) for one in await watched.causes()] == [("request", f"merged {sha}")]


async def test_squashing_edits_with_a_revert_among_them(watched: Watched) -> None:
    edit = await watched.accept("- four")
    watched.on_branch("revert", "--no-edit", edit)
    watched.lines.remove("- four")
    await watched.accept("- five", step=2)
    assert await watched.kinds() == ["taken-back"]
    git(watched.folder, "merge", "--quiet", "--squash", BRANCH)
    said = git(watched.folder, "log", "--format=%B", f"HEAD..{BRANCH}")
    git(watched.folder, "commit", "--quiet", "--message", f"Honed edits (#1)\n\n{said}")
    assert await watched.kinds() == ["request"]


async def test_merging_edits_beside_a_persons_known_change(watched: Watched) -> None:
    await watched.accept("- four")
    watched.commit("Put zero first", "- zero", "- one", "- two", "- three")
    assert await watched.kinds() == ["skill"]
    git(watched.folder, "merge", "--quiet", "--no-edit", BRANCH)
    assert await watched.kinds() == ["request"]


async def test_a_person_merges_head_into_the_branch(watched: Watched) -> None:
    await watched.accept("- four")
    watched.commit("Put zero first", "- zero", "- one", "- two", "- three")
    assert await watched.kinds() == ["skill"]
    sha = watched.on_branch("merge", "--quiet", "--no-edit", "main")
    assert [(one.kind, one.key) for one in await watched.causes()] == [("skill", sha)]


async def test_a_revert_on_head_after_merging(watched: Watched) -> None:
    edit = await watched.accept("- four")
    git(watched.folder, "merge", "--quiet", "--ff-only", BRANCH)
    await watched.causes()
    git(watched.folder, "revert", "--no-edit", edit)
    head = git(watched.folder, "rev-parse", "HEAD")
    assert [(one.kind, one.key) for one in await watched.causes()] == [("taken-back", head)]


async def test_deleting_an_edits_text_takes_it_back(watched: Watched) -> None:
    await watched.accept("- four")
    git(watched.folder, "merge", "--quiet", "--ff-only", BRANCH)
    await watched.causes()
    sha = watched.commit("Remove what nobody needs", *FIRST)
    assert [(one.kind, one.key) for one in await watched.causes()] == [("taken-back", sha)]


async def test_switching_to_another_version(watched: Watched) -> None:
    git(watched.folder, "switch", "--quiet", "--create", "other")
    first = watched.commit("Try something", "- one at most")
    assert await watched.kinds() == ["skill"]
    git(watched.folder, "switch", "--quiet", "main")
    head = git(watched.folder, "rev-parse", "HEAD")
    assert [(one.kind, one.key) for one in await watched.causes()] == [("skill", head)]
    git(watched.folder, "switch", "--quiet", "other")
    assert [(one.kind, one.key) for one in await watched.causes()] == [("skill", first)]


async def test_closed_requests(watched: Watched) -> None:
    edit = await watched.accept("- four")
    await watched.causes()
    kept = watched.rejected
    await kept.keep_commits("request-12", (edit,), reason="too long", when=2_000)
    [cause] = await watched.causes()
    assert (cause.kind, cause.key) == ("request", "closed request-12")
    assert cause.detail == "a person closed request 12: too long"
    assert await watched.causes() == ()


async def test_what_the_gate_rejected_is_no_cause(watched: Watched) -> None:
    edit = await watched.accept("- four")
    await watched.causes()
    git(watched.folder, "update-ref", "refs/honed/rejected/xlsx/r-1.3", edit)
    assert await watched.causes() == ()


async def test_a_bare_repository_whose_head_is_honeds_branch(watched: Watched, tmp_path: Path) -> None:
    await watched.accept("- four")
    git(tmp_path, "clone", "--quiet", "--bare", str(watched.folder), "bare")
    git(tmp_path / "bare", "symbolic-ref", "HEAD", f"refs/heads/{BRANCH}")
    watched.change_config('path = "skills/xlsx"', 'path = "skills/xlsx"\nrepository = "../bare"')
    assert await watched.kinds() == ["config"]
    assert watched.seen is not None
    assert watched.seen.skill.head.commit == ""
    watched.project = Watched(watched.folder).project
    await watched.accept("- five", step=2)
    assert await watched.causes() == ()


async def test_a_repository_that_is_gone_and_comes_back(watched: Watched) -> None:
    away = watched.folder / ".git-away"
    (watched.folder / ".git").rename(away)
    assert await watched.causes() == ()
    assert watched.seen is not None
    assert "is not a git repository" in watched.seen.wrong["repository"]
    away.rename(watched.folder / ".git")
    assert await watched.causes() == ()
    assert watched.seen.wrong == {}


async def test_a_repository_above_is_not_taken_for_the_projects(watched: Watched) -> None:
    git(watched.folder.parent, "init", "--quiet")
    (watched.folder / ".git").rename(watched.folder / ".git-away")
    await watched.causes()
    assert watched.seen is not None
    assert "is not a git repository" in watched.seen.wrong["repository"]


async def test_a_project_that_is_gone(watched: Watched) -> None:
    shutil.rmtree(watched.folder)
    assert await watched.causes() == ()
    assert watched.seen is not None
    assert sorted(watched.seen.wrong) == ["config", "repository", "tasks"]


async def test_a_broken_ref_is_said(watched: Watched) -> None:
    await watched.accept("- four")
    await watched.causes()
    (watched.folder / ".git" / "refs" / "heads" / BRANCH).write_text("0" * 39 + "1\n")
    assert await watched.causes() == ()
    assert watched.seen is not None
    assert watched.seen.wrong.get("repository")


async def test_without_a_commit_a_project_is_not_new_yet(tmp_path: Path) -> None:
    watched = a_watched(tmp_path / "project")
    shutil.rmtree(watched.folder / ".git")
    git(watched.folder, "init", "--quiet", "--initial-branch=main")
    assert await watched.causes() == ()
    git(watched.folder, "add", "--all")
    git(watched.folder, "commit", "--quiet", "--message", "Start")
    assert await watched.kinds() == ["new"]


async def test_a_linked_work_tree_is_looked_at_like_any(watched: Watched, tmp_path: Path) -> None:
    git(watched.folder, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    side = Watched(tmp_path / "side")
    assert await side.kinds() == ["new"]
    sha = side.commit("Say it shorter", "- one")
    assert [(one.kind, one.key) for one in await side.causes()] == [("skill", sha)]
    assert await watched.causes() == ()


async def test_what_the_remote_has_and_head_lacks_is_said(watched: Watched, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(watched.folder), "clone")
    clone = Watched(tmp_path / "clone")
    assert await clone.kinds() == ["new"]
    sha = watched.commit("Say it shorter", "- one")
    assert await Fetcher().fetch(clone.project) == ""
    assert await clone.causes() == ()
    assert clone.seen is not None
    assert "git pull" in clone.seen.wrong["remote"]
    git(clone.folder, "pull", "--quiet")
    assert [(one.kind, one.key) for one in await clone.causes()] == [("skill", sha)]
    assert clone.seen.wrong == {}


async def test_edits_that_honed_merges_itself_are_no_cause(watched: Watched) -> None:
    watched.change_config("[train]", '[publish]\nmode = "direct"\n\n[train]')
    await watched.accept("- four")
    await watched.causes()
    git(watched.folder, "merge", "--quiet", "--ff-only", BRANCH)
    assert await watched.causes() == ()


async def test_peoples_words_are_one_harmless_line(watched: Watched) -> None:
    watched.commit("fix @everyone\x1b[31m closes #1 " + "x" * 500, "- one")
    [cause] = await watched.causes()
    assert "\x1b" not in cause.detail
    assert "@everyone" not in cause.detail
    assert len(cause.detail) < 250


async def test_a_look_needs_no_earlier_one(watched: Watched) -> None:
    seen = await look(watched.project, None)
    assert isinstance(seen, Seen)
    assert seen.tasks.count == 8
    assert seen.skill.head.tree == git(watched.folder, "rev-parse", f"HEAD:{PATH}")
