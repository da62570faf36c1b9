"""The watcher with real events on real files and repositories. Waits end on what happens, or fail after a minute."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import shutil
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from watchdog.observers import inotify_c

from daemon.notices.arming import Eyes, NoEyes
from daemon.notices.watcher import Watcher
from tests.support.honed_cli import git
from tests.support.notices import BRANCH, Watched, a_watched

LONG_S = 60.0
"""Guards against hanging only."""
QUIET_S = 0.02
SILENCE_S = 0.25
"""So long nothing may come where nothing is expected."""


class Notices:
    """Looks whenever the watcher says so, and gathers the causes."""

    def __init__(self, watcher: Watcher, *kept: Watched) -> None:
        self.watcher = watcher
        self.kept = {one.project.name: one for one in kept}
        self.kinds: list[str] = []
        self.looks = 0
        self._looking = False
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Until it is cancelled."""
        async for names in self.watcher.changes():
            for name in sorted(names):
                self.looks += 1
                self._looking = True
                self.kinds += await self.kept[name].kinds()
                self._looking = False
                seen = self.kept[name].seen
                assert seen is not None
                self.watcher.note(name, seen)
            self._news.set()

    async def until(self, *kinds: str) -> None:
        """Wait for these causes, and forget them."""
        async with asyncio.timeout(LONG_S):
            while self.kinds != list(kinds):
                self._news.clear()
                await self._news.wait()
        self.kinds.clear()

    async def look(self) -> None:
        """Wait for another look."""
        before = self.looks
        async with asyncio.timeout(LONG_S):
            while self.looks == before:
                self._news.clear()
                await self._news.wait()

    async def nothing(self) -> None:
        """No cause and, once what has begun is over, no look either: one that makes another never comes to its end."""
        await asyncio.sleep(SILENCE_S)
        for _ in range(20):
            before = self.looks, self._looking
            await asyncio.sleep(SILENCE_S)
            if before == (self.looks, False):
                break  # else a busy machine is not done with what had begun
        else:
            pytest.fail("there is no end of looks")
        assert self.kinds == []


@asynccontextmanager
async def noticing(
    *kept: Watched, poll_s: float = LONG_S, debounce_s: float = QUIET_S, observer: Eyes | None = None
) -> AsyncIterator[Notices]:
    """Everything running, and everything ended."""
    for one in kept:
        await one.causes()
    projects = [one.project for one in kept]
    async with Watcher(projects, debounce_s=debounce_s, poll_s=poll_s, observer=observer) as watcher:
        notices = Notices(watcher, *kept)
        task = asyncio.create_task(notices.run())
        try:
            yield notices
        finally:
            if task.done():
                await task
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
def kept(tmp_path: Path) -> Watched:
    """One project."""
    return a_watched(tmp_path / "project")


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Threads and descriptors are as before."""
    threads = {thread for thread in threading.enumerate() if "asyncio" not in thread.name}
    links = _inotifies()
    yield
    assert {thread for thread in threading.enumerate() if "asyncio" not in thread.name} <= threads
    assert _inotifies() == links


def _inotifies() -> int:
    count = 0
    for link in Path("/proc/self/fd").iterdir():
        try:
            count += "inotify" in str(link.readlink())
        except FileNotFoundError:
            continue
    return count


def more_tasks(kept: Watched, number: int) -> list[dict[str, object]]:
    """The rows with one more."""
    return [*kept.tasks(), {**kept.tasks()[0], "id": f"more-{number}", "prompt": f"Greet {number}."}]


async def test_tasks_saved_as_editors_do(kept: Watched) -> None:
    async with noticing(kept) as notices:
        assert notices.watcher.blind == ""
        kept.save_tasks(more_tasks(kept, 1))
        await notices.until("tasks")
        kept.save_tasks(more_tasks(kept, 2))
        await notices.until("tasks")
        await notices.nothing()


async def test_tasks_that_are_touched_are_no_cause(kept: Watched) -> None:
    async with noticing(kept) as notices:
        file = kept.folder / "tasks.jsonl"
        file.write_bytes(file.read_bytes())
        await notices.look()
        await notices.nothing()


async def test_a_thousand_quick_writes_are_few_looks(kept: Watched) -> None:
    async with noticing(kept, debounce_s=0.1) as notices:
        rows, began = more_tasks(kept, 1), time.monotonic()
        text = (kept.folder / "tasks.jsonl").read_bytes()

        def write() -> None:
            for _ in range(1_000):
                (kept.folder / "tasks.jsonl").write_bytes(text)
            kept.save_tasks(rows)

        await asyncio.to_thread(write)
        await notices.until("tasks")
        assert notices.looks <= 2 + (time.monotonic() - began) / 0.1, "not more than one for each time of quiet"
        assert notices.looks < 200


async def test_endless_changes_come_through(kept: Watched) -> None:
    async with noticing(kept, debounce_s=0.05) as notices:
        kept.save_tasks(more_tasks(kept, 1))
        stop = threading.Event()

        def busy() -> None:
            config, beside = kept.folder / "honed.toml", kept.folder / "honed.toml.new"
            while not stop.wait(0.005):
                (kept.folder / "tasks.splits.json.part").touch()
                beside.write_bytes(config.read_bytes())
                beside.replace(config)  # at once: one that is seen empty for a moment is a change of its own

        task = asyncio.create_task(asyncio.to_thread(busy))
        try:
            await notices.until("tasks")
        finally:
            stop.set()
            await task


async def test_a_pushed_edit(kept: Watched, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--bare", str(kept.folder), "bare")
    kept.change_config('path = "skills/xlsx"', 'path = "skills/xlsx"\nrepository = "../bare"')
    watched = Watched(kept.folder)
    git(kept.folder, "remote", "add", "origin", str(tmp_path / "bare"))
    async with noticing(watched) as notices:
        kept.commit("Say it shorter", "- one")
        git(kept.folder, "push", "--quiet", "origin", "main")
        await notices.until("skill")
        await notices.nothing()


async def test_reverts_and_merges_on_the_branch(kept: Watched) -> None:
    async with noticing(kept) as notices:
        edit = await kept.accept("- four")
        await notices.look()
        await notices.nothing()
        git(kept.folder, "merge", "--quiet", "--ff-only", BRANCH)
        await notices.until("request")
        kept.on_branch("revert", "--no-edit", edit)
        await notices.until("taken-back")
        git(kept.folder, "pack-refs", "--all")
        await notices.look()
        await notices.nothing()
        kept.commit("Say it shorter", "- one")
        await notices.until("skill")


async def test_honeds_state_wakes_nobody(kept: Watched) -> None:
    async with noticing(kept) as notices:
        before = notices.looks
        state = kept.folder / ".honed"
        state.mkdir()
        for number in range(20):
            (state / f"file-{number}").write_text("x")
        (kept.folder / "notes.txt").write_text("of somebody's own")
        await notices.nothing()
        assert notices.looks == before


async def test_a_changed_configuration_and_a_wrong_one(kept: Watched) -> None:
    async with noticing(kept) as notices:
        kept.change_config("epochs = 1", "epochs = 2")
        await notices.until("config")
        kept.change_config("epochs = 2", "epochs = 0.5")
        await notices.look()
        await notices.nothing()
        assert kept.seen is not None
        assert "epochs" in kept.seen.wrong["config"]


async def test_a_folder_of_tasks_with_new_folders_and_one_made_anew(kept: Watched, tmp_path: Path) -> None:
    folder = kept.folder / "set"
    folder.mkdir()
    shutil.move(kept.folder / "tasks.jsonl", folder / "tasks.jsonl")
    kept.change_config('path = "tasks.jsonl"', 'path = "set"')
    watched = Watched(kept.folder)
    rows = "".join((folder / "tasks.jsonl").read_text().splitlines(keepends=True)[1:])
    async with noticing(watched) as notices:
        (folder / "tasks.jsonl").write_text(rows)
        await notices.until("tasks")
        text = (folder / "tasks.jsonl").read_text()
        shutil.rmtree(folder)
        await notices.look()
        await notices.nothing()
        assert watched.seen is not None
        assert watched.seen.wrong["tasks"]
        folder.mkdir()
        (folder / "tasks.jsonl").write_text(text)
        await notices.look()
        await notices.nothing()
        assert watched.seen.wrong == {}
        (folder / "tasks.jsonl").write_text(text.replace("Greet", "Hail"))
        await notices.until("tasks")


async def test_a_folder_that_is_put_in_anothers_place(kept: Watched) -> None:
    folder = kept.folder / "set"
    for name in ("set", "set.new"):
        (kept.folder / name).mkdir()
        shutil.copy(kept.folder / "tasks.jsonl", kept.folder / name / "tasks.jsonl")
    kept.change_config('path = "tasks.jsonl"', 'path = "set"')
    watched = Watched(kept.folder)
    async with noticing(watched) as notices:
        folder.rename(kept.folder / "set.old")
        (kept.folder / "set.new").rename(folder)
        await notices.look()
        await notices.nothing()
        (folder / "tasks.jsonl").write_text((folder / "tasks.jsonl").read_text().replace("Greet", "Hail"))
        await notices.until("tasks")


async def test_a_link_that_is_led_elsewhere(kept: Watched) -> None:
    for name, word in (("v1", "Greet"), ("v2", "Hail")):
        (kept.folder / name).mkdir()
        text = (kept.folder / "tasks.jsonl").read_text().replace("Greet", word)
        (kept.folder / name / "set.jsonl").write_text(text)
    link = kept.folder / "now"
    link.symlink_to("v1")
    kept.change_config('path = "tasks.jsonl"', 'path = "now/set.jsonl"')
    watched = Watched(kept.folder)
    async with noticing(watched) as notices:
        new = kept.folder / "now.new"
        new.symlink_to("v2")
        new.replace(link)
        await notices.until("tasks")
        file = kept.folder / "v2" / "set.jsonl"
        file.write_text(file.read_text().replace("Hail", "Hi"))
        await notices.until("tasks")


async def test_files_that_tasks_are_made_of(kept: Watched) -> None:
    data = kept.folder / "data" / "deep" / "in.txt"
    data.parent.mkdir(parents=True)
    data.write_text("a")
    first, *others = kept.tasks()
    kept.save_tasks([{**first, "files": ["data/deep/in.txt"]}, *others])
    async with noticing(kept) as notices:
        assert kept.seen is not None
        notices.watcher.note("xlsx", kept.seen)
        await notices.look()
        data.write_text("b")
        await notices.until("tasks")
        await notices.nothing()


async def test_a_repository_that_is_made_anew(kept: Watched) -> None:
    async with noticing(kept) as notices:
        shutil.rmtree(kept.folder / ".git")
        await notices.look()
        await notices.nothing()
        assert kept.seen is not None
        assert kept.seen.wrong["repository"]
        git(kept.folder, "init", "--quiet", "--initial-branch=main")
        git(kept.folder, "add", "--all")
        git(kept.folder, "commit", "--quiet", "--message", "Start anew")
        async with asyncio.timeout(LONG_S):
            while kept.seen.wrong:
                await notices.look()
        await notices.nothing()
        kept.commit("Say it shorter", "- one")
        await notices.until("skill")


async def test_a_linked_work_tree_shares_its_refs(kept: Watched, tmp_path: Path) -> None:
    git(kept.folder, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    side = Watched(tmp_path / "side")
    async with noticing(side) as notices:
        side.commit("Say it shorter", "- one")
        await notices.until("skill")
        git(side.folder, "switch", "--quiet", "--detach", "main")
        await notices.until("skill")


async def test_without_events_the_poll_looks(kept: Watched) -> None:
    async with noticing(kept, poll_s=0.05, observer=NoEyes()) as notices:
        kept.save_tasks(more_tasks(kept, 1))
        await notices.until("tasks")
        kept.commit("Say it shorter", "- one")
        await notices.until("skill")


async def test_projects_come_and_go(kept: Watched, tmp_path: Path) -> None:
    other = a_watched(tmp_path / "other")
    other.project = type(other.project)("other", other.project.config)
    await other.causes()
    async with noticing(kept) as notices:
        notices.kept["other"] = other
        notices.watcher.set_projects([kept.project, other.project])
        await notices.look()
        other.commit("Say it shorter", "- one")
        await notices.until("skill")
        notices.watcher.set_projects([other.project])
        kept.commit("Say it shorter", "- one")
        await notices.nothing()


@pytest.mark.parametrize("limit", ["ENOSPC", "EMFILE"])
async def test_a_limit_of_inotify_is_said_and_the_poll_looks(
    kept: Watched, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    def refused(*_: object) -> int:
        ctypes.set_errno(getattr(errno, limit))
        return -1

    name = "inotify_add_watch" if limit == "ENOSPC" else "inotify_init"
    monkeypatch.setattr(inotify_c, name, refused)
    async with noticing(kept, poll_s=0.05) as notices:
        assert "raise fs.inotify.max_user_" in notices.watcher.blind
        kept.save_tasks(more_tasks(kept, 1))
        await notices.until("tasks")
        if limit == "ENOSPC":
            monkeypatch.undo()
            async with asyncio.timeout(LONG_S):
                while notices.watcher.blind:
                    await notices.look()
