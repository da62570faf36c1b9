"""Which folders and names are watched."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.notices.places import Names, Place, existing, places_of
from tests.support.honed_cli import git
from tests.support.notices import Watched, a_watched


@pytest.fixture
def kept(tmp_path: Path) -> Watched:
    """One project."""
    return a_watched(tmp_path / "project")


def wakes(watched: Watched, path: Path, beside: tuple[str, ...] = ()) -> bool:
    """A change at this path matters."""
    for place, names in places_of(watched.project, beside).items():
        there, these = existing(place, names)
        if path.is_relative_to(there.folder):
            parts = path.relative_to(there.folder).parts
            if (there.recursive or len(parts) < 2) and these.matter(parts):
                return True
    return False


@pytest.mark.parametrize(
    "path",
    [
        "honed.toml",
        "tasks.jsonl",
        "tasks.splits.json",
        ".git",
        ".git/HEAD",
        ".git/packed-refs",
        ".git/refs",
        ".git/refs/heads/main",
        ".git/refs/heads/honed/xlsx",
        ".git/refs/honed/rejected/xlsx/request-1",
        ".git/refs/remotes/origin/main",
    ],
)
def test_what_wakes(kept: Watched, path: str) -> None:
    assert wakes(kept, kept.folder / path)


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "honed.toml.swp",
        ".honed",
        ".honed/journal.sqlite-wal",
        ".git/index",
        ".git/ORIG_HEAD",
        ".git/objects/ab/cdef",
        ".git/logs/HEAD",
        ".git/HEAD.lock",
        ".git/refs/heads/main.lock",
        "skills/xlsx/SKILL.md",
        "data/in.txt",
    ],
)
def test_what_wakes_nobody(kept: Watched, path: str) -> None:
    assert not wakes(kept, kept.folder / path)


def test_what_tasks_are_made_of_wakes(kept: Watched) -> None:
    (kept.folder / "data" / "deep").mkdir(parents=True)
    assert wakes(kept, kept.folder / "data" / "deep" / "in.txt", ("data",))
    assert wakes(kept, kept.folder / "late", ("late",))
    assert wakes(kept, kept.folder / "one.txt", ("one.txt",))
    assert not wakes(kept, kept.folder / "two.txt", ("one.txt",))


def test_everything_beside_broken_tasks_wakes_but_git_and_honed(kept: Watched) -> None:
    (kept.folder / ".honed").mkdir()
    (kept.folder / "data").mkdir()
    places = places_of(kept.project, (".",))
    assert wakes(kept, kept.folder / "data" / "in.txt", (".",))
    assert wakes(kept, kept.folder / "new.txt", (".",))
    assert not wakes(kept, kept.folder / ".honed" / "attempts" / "x", (".",))
    assert not any(place.recursive and place.folder == str(kept.folder) for place in places)


def test_a_folder_of_tasks_is_watched_whole(kept: Watched) -> None:
    folder = kept.folder / "set" / "deep"
    folder.mkdir(parents=True)
    kept.change_config('path = "tasks.jsonl"', 'path = "set"')
    assert wakes(kept, folder / "task.toml")
    assert wakes(kept, folder.parent)
    assert not wakes(kept, folder / ".git" / "HEAD")
    assert places_of(kept.project)[Place(str(folder.parent), True)].all


@pytest.mark.parametrize("path", ["python:some-tasks", "bench:gsm8k"])
def test_sets_without_files_need_no_watch(kept: Watched, path: str) -> None:
    kept.change_config('path = "tasks.jsonl"', f'path = "{path}"')
    assert not wakes(kept, kept.folder / "tasks.jsonl")
    assert not wakes(kept, kept.folder / path)
    assert wakes(kept, kept.folder / "honed.toml")


def test_links_on_the_way_are_watched_where_they_lie(kept: Watched) -> None:
    """As where a cluster mounts files: honed.toml -> ..data/honed.toml, ..data -> a folder of today."""
    for name in ("today", "elsewhere"):
        (kept.folder / name).mkdir()
    (kept.folder / "..data").symlink_to("today")
    (kept.folder / "tasks.jsonl").rename(kept.folder / "today" / "set.jsonl")
    (kept.folder / "linked.jsonl").symlink_to("..data/set.jsonl")
    kept.change_config('path = "tasks.jsonl"', 'path = "linked.jsonl"')
    assert wakes(kept, kept.folder / "linked.jsonl")
    assert wakes(kept, kept.folder / "..data")
    assert wakes(kept, kept.folder / "today" / "set.jsonl")
    assert not wakes(kept, kept.folder / "elsewhere" / "set.jsonl")


def test_a_link_in_a_circle_ends(kept: Watched) -> None:
    (kept.folder / "a").symlink_to("b")
    (kept.folder / "b").symlink_to("a")
    kept.change_config('path = "tasks.jsonl"', 'path = "a/set.jsonl"')
    assert wakes(kept, kept.folder / "a")
    assert wakes(kept, kept.folder / "b")


def test_a_linked_work_tree_has_its_own_head_and_shared_refs(kept: Watched, tmp_path: Path) -> None:
    git(kept.folder, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    side = Watched(tmp_path / "side")
    assert wakes(side, kept.folder / ".git" / "worktrees" / "side" / "HEAD")
    assert wakes(side, kept.folder / ".git" / "refs" / "heads" / "honed" / "xlsx")
    assert wakes(side, kept.folder / ".git" / "packed-refs")
    assert wakes(side, tmp_path / "side" / ".git")
    assert not wakes(kept, kept.folder / ".git" / "worktrees" / "side" / "HEAD")


def test_a_bare_repository(kept: Watched, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(kept.folder), "bare")
    kept.change_config('path = "skills/xlsx"', 'path = "skills/xlsx"\nrepository = "../bare"')
    bare = Watched(kept.folder)
    assert wakes(bare, tmp_path / "bare" / "refs" / "heads" / "main")
    assert wakes(bare, tmp_path / "bare" / "packed-refs")
    assert not wakes(bare, tmp_path / "bare" / "objects" / "ab")
    assert not wakes(bare, kept.folder / ".git" / "refs" / "heads" / "main")


def test_a_missing_folder_is_awaited_in_the_nearest_one_above(tmp_path: Path) -> None:
    wanted = Place(str(tmp_path / "a" / "b" / "c"), True)
    names = Names(all=True)
    assert existing(wanted, names) == (Place(str(tmp_path)), Names(some={"a"}))
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert existing(wanted, names) == (Place(str(tmp_path / "a" / "b")), Names(some={"c"}))
    (tmp_path / "a" / "b" / "c").mkdir()
    assert existing(wanted, names) == (wanted, names)


def test_a_broken_configuration_still_tells_where_it_lies(kept: Watched) -> None:
    (kept.folder / "honed.toml").write_text("[tasks\n")
    assert wakes(kept, kept.folder / "honed.toml")
    assert wakes(kept, kept.folder / "tasks.jsonl")
    (kept.folder / "honed.toml").write_text("tasks = 3\n")
    assert wakes(kept, kept.folder / "tasks.jsonl")


def test_a_folder_that_is_closed_to_us_is_like_a_missing_one(kept: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = kept.folder / "closed"
    closed.mkdir()
    kept.change_config('path = "tasks.jsonl"', 'path = "closed/set"')
    is_dir = Path.is_dir

    def refusing(path: Path) -> bool:
        if path.is_relative_to(closed) and path != closed:
            raise PermissionError(13, "Permission denied", str(path))
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", refusing)
    assert wakes(kept, closed / "set")
    assert wakes(kept, kept.folder / "honed.toml")
