"""The watcher over events that the test makes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs
from watchdog.events import (
    DirDeletedEvent,
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)

from daemon.notices.arming import Arms
from daemon.notices.places import Names, Place
from daemon.notices.watcher import Watcher
from tests.support.notices import Watched, a_watched
from tests.support.waiting import LONGER_S

LONG_S = 60.0


@dataclass
class FakeEyes:
    """An observer that sees what it is told."""

    watched: dict[str, FileSystemEventHandler] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    fault: OSError | None = None
    faults: dict[str, OSError] = field(default_factory=dict)
    refused: dict[str, OSError] = field(default_factory=dict)

    def start(self) -> None:
        """Begin."""
        if self.fault is not None:
            raise self.fault
        self.events.append("start")

    def stop(self) -> None:
        """End."""
        self.events.append("stop")

    def join(self) -> None:
        """Wait."""
        self.events.append("join")

    def schedule(self, event_handler: FileSystemEventHandler, path: str, **how: Any) -> str:
        """Watch."""
        if path in self.faults:
            raise self.faults[path]
        key = f"{path} all" if how.get("recursive") else path
        assert key not in self.watched
        self.watched[key] = event_handler
        self.events.append(f"watch {key}")
        return key

    def unschedule(self, watch: str) -> None:
        """Do not."""
        del self.watched[watch]
        self.events.append(f"leave {watch}")

    def refused_below(self, folder: str) -> OSError | None:
        """What the kernel refused below a folder."""
        return next((error for path, error in self.refused.items() if path.startswith(f"{folder}/")), None)

    def happen(self, folder: Path, event: FileSystemEvent) -> None:
        """An event in a watched folder, in a thread of its own, as observers have it."""
        thread = threading.Thread(target=self.watched[str(folder)].dispatch, args=(event,))
        thread.start()
        thread.join()


@pytest.fixture
def kept(tmp_path: Path) -> Watched:
    """One project."""
    return a_watched(tmp_path / "project")


@asynccontextmanager
async def watching(
    *kept: Watched, eyes: FakeEyes, debounce_s: float = 0.01, poll_s: float = LONG_S
) -> AsyncIterator[tuple[Watcher, AsyncIterator[set[str]]]]:
    """A watcher and what it says."""
    projects = [one.project for one in kept]
    async with Watcher(projects, debounce_s=debounce_s, poll_s=poll_s, observer=eyes) as watcher:
        yield watcher, watcher.changes()


async def following(changes: AsyncIterator[set[str]]) -> set[str]:
    """The next names."""
    async with asyncio.timeout(LONG_S):
        return await anext(changes)


async def silent(changes: AsyncIterator[set[str]]) -> bool:
    """Nothing comes."""
    task = asyncio.ensure_future(anext(changes))
    await asyncio.sleep(0.1)
    done = task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return not done


async def test_an_event_wakes_its_project(kept: Watched) -> None:
    eyes = FakeEyes()
    async with watching(kept, eyes=eyes) as (_, changes):
        eyes.happen(kept.folder, FileModifiedEvent(str(kept.folder / "honed.toml")))
        assert await following(changes) == {"xlsx"}
    assert eyes.events[-2:] == ["stop", "join"]


async def test_a_rename_counts_by_its_new_name(kept: Watched) -> None:
    eyes = FakeEyes()
    async with watching(kept, eyes=eyes) as (_, changes):
        event = FileMovedEvent(str(kept.folder / "honed.toml.part"), str(kept.folder / "honed.toml"))
        eyes.happen(kept.folder, event)
        assert await following(changes) == {"xlsx"}


async def test_other_names_wake_nobody(kept: Watched) -> None:
    eyes = FakeEyes()
    async with watching(kept, eyes=eyes) as (_, changes):
        eyes.happen(kept.folder, FileCreatedEvent(str(kept.folder / "notes.txt")))
        eyes.happen(kept.folder / ".git", FileCreatedEvent(str(kept.folder / ".git" / "index")))
        assert await silent(changes)


async def test_many_events_are_one_notice(kept: Watched) -> None:
    eyes = FakeEyes()
    async with watching(kept, eyes=eyes, debounce_s=0.05) as (_, changes):
        for _ in range(1_000):
            eyes.watched[str(kept.folder)].dispatch(FileModifiedEvent(str(kept.folder / "honed.toml")))
        assert await following(changes) == {"xlsx"}
        assert await silent(changes)


async def test_endless_events_come_through(kept: Watched) -> None:
    eyes = FakeEyes()
    async with watching(kept, eyes=eyes, debounce_s=0.05) as (_, changes):
        stop = threading.Event()

        def busy() -> None:
            while not stop.wait(0.002):
                eyes.watched[str(kept.folder)].dispatch(FileModifiedEvent(str(kept.folder / "honed.toml")))

        thread = threading.Thread(target=busy)
        thread.start()
        try:
            assert await following(changes) == {"xlsx"}
            assert await following(changes) == {"xlsx"}
        finally:
            stop.set()
            await asyncio.to_thread(thread.join)


async def test_a_busy_project_does_not_hold_up_another(kept: Watched, tmp_path: Path) -> None:
    other = a_watched(tmp_path / "other")
    other.project = type(other.project)("other", other.project.config)
    for debounce_s in (0.2, *LONGER_S):
        eyes = FakeEyes()
        async with watching(kept, other, eyes=eyes, debounce_s=debounce_s) as (watcher, changes):
            eyes.happen(kept.folder, FileModifiedEvent(str(kept.folder / "honed.toml")))
            watcher.wake("other")
            first = await following(changes)
            if "xlsx" in first:
                continue  # it was quiet for so long before anybody looked
            assert first == {"other"}
            assert await following(changes) == {"xlsx"}
            return
    pytest.fail("the busy project was always there, too")


async def test_whoever_asks_need_not_wait_for_quiet(kept: Watched) -> None:
    async with watching(kept, eyes=FakeEyes(), debounce_s=LONG_S) as (watcher, changes):
        watcher.wake("xlsx")
        assert await following(changes) == {"xlsx"}


async def test_nobody_is_told_of_a_project_that_is_not_kept(kept: Watched) -> None:
    async with watching(kept, eyes=FakeEyes()) as (watcher, changes):
        watcher.wake("unknown")
        assert await silent(changes)


async def test_the_poll_names_all(kept: Watched, tmp_path: Path) -> None:
    other = a_watched(tmp_path / "other")
    other.project = type(other.project)("other", other.project.config)
    async with watching(kept, other, eyes=FakeEyes(), poll_s=0.02) as (_, changes):
        assert await following(changes) == {"xlsx", "other"}
        assert await following(changes) == {"xlsx", "other"}


async def test_projects_that_share_folders_share_watches(kept: Watched) -> None:
    eyes = FakeEyes()
    twin = Watched(kept.folder)
    twin.project = type(twin.project)("twin", twin.project.config)
    async with watching(kept, twin, eyes=eyes) as (watcher, changes):
        eyes.happen(kept.folder, FileModifiedEvent(str(kept.folder / "honed.toml")))
        assert await following(changes) == {"xlsx", "twin"}
        watcher.set_projects([twin.project])
        watcher.wake("twin")
        assert await following(changes) == {"twin"}
        eyes.happen(kept.folder, FileModifiedEvent(str(kept.folder / "honed.toml")))
        assert await following(changes) == {"twin"}
        watcher.set_projects([])
        watcher.wake("twin")
        assert await silent(changes)


async def test_only_new_and_changed_projects_are_looked_at(kept: Watched) -> None:
    async with watching(kept, eyes=FakeEyes()) as (watcher, changes):
        watcher.set_projects([kept.project])
        assert await silent(changes)
    async with watching(kept, eyes=FakeEyes()) as (watcher, changes):
        watcher.set_projects([type(kept.project)("xlsx", kept.project.config, wrong="bad key")])
        assert await following(changes) == {"xlsx"}


async def test_a_folder_that_is_made_anew_is_watched_again(kept: Watched) -> None:
    eyes = FakeEyes()
    refs = kept.folder / ".git" / "refs"
    async with watching(kept, eyes=eyes) as (_, changes):
        eyes.events.clear()
        event = DirDeletedEvent(str(refs))
        eyes.watched[f"{refs} all"].dispatch(event)
        assert await following(changes) == {"xlsx"}
        assert eyes.events == [f"leave {refs} all", f"watch {refs} all"]


async def test_what_happens_before_the_watch_stands_is_not_lost(kept: Watched) -> None:
    """Watches are put right before names are given, so the look that follows sees what they missed."""
    eyes = FakeEyes()
    kept.change_config('path = "tasks.jsonl"', 'path = "set/tasks.jsonl"')
    async with watching(kept, eyes=eyes) as (_, changes):
        folder = kept.folder / "set"
        assert str(folder) not in eyes.watched
        folder.mkdir()
        eyes.happen(kept.folder, FileCreatedEvent(str(folder)))
        assert await following(changes) == {"xlsx"}
        assert str(folder) in eyes.watched


async def test_what_cannot_be_watched_is_said_once(kept: Watched) -> None:
    eyes = FakeEyes()
    refs = str(kept.folder / ".git" / "refs")
    eyes.faults[refs] = OSError(28, "no space")
    with capture_logs() as logs:
        async with watching(kept, eyes=eyes) as (watcher, changes):
            assert "raise fs.inotify.max_user_watches" in watcher.blind
            watcher.wake("xlsx")
            await following(changes)
            assert watcher.blind
            eyes.faults.clear()
            watcher.wake("xlsx")
            await following(changes)
            assert watcher.blind == ""
            assert f"{refs} all" in eyes.watched
    assert [line["event"] for line in logs] == ["some changes are only seen by the poll"]


async def test_a_limit_that_is_reached_below_a_watched_folder_is_said_once_and_tried_again(kept: Watched) -> None:
    eyes = FakeEyes(refused={str(kept.folder / ".git" / "refs" / "honed"): OSError(28, "no space")})
    with capture_logs() as logs:
        async with watching(kept, eyes=eyes) as (watcher, changes):
            for _ in range(2):
                assert "raise fs.inotify.max_user_watches" in watcher.blind
                watcher.wake("xlsx")
                await following(changes)
            eyes.refused.clear()
            watcher.wake("xlsx")
            await following(changes)
            assert watcher.blind == ""
    assert [line["event"] for line in logs] == ["some changes are only seen by the poll"]
    refs = f"{kept.folder / '.git' / 'refs'} all"
    assert eyes.events.count(f"watch {refs}") == 1 + eyes.events.count(f"leave {refs}") == 4


async def test_where_no_events_come_the_poll_looks(kept: Watched) -> None:
    eyes = FakeEyes(fault=OSError(24, "too many"))
    async with watching(kept, eyes=eyes, poll_s=0.02) as (watcher, changes):
        assert "raise fs.inotify.max_user_instances" in watcher.blind
        assert await following(changes) == {"xlsx"}
        assert eyes.watched == {}


async def test_a_start_that_fails_leaves_no_thread(kept: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("a fault of ours")

    monkeypatch.setattr("daemon.notices.watcher.places_of", broken)
    eyes = FakeEyes()
    with pytest.raises(ValueError, match="ours"):
        async with watching(kept, eyes=eyes):
            raise AssertionError("never")
    assert eyes.events == ["start", "stop", "join"]


async def test_changes_end_with_the_watcher(kept: Watched) -> None:
    async with watching(kept, eyes=FakeEyes()) as (_, changes):
        task = asyncio.ensure_future(anext(changes, None))
        await asyncio.sleep(0.01)
    async with asyncio.timeout(LONG_S):
        assert await task is None


def test_an_event_outside_the_folder_is_nobodys() -> None:
    eyes, told = FakeEyes(), list[str]()
    arms = Arms(eyes, told.extend)
    arms.update({"one": {Place("/tmp"): Names(all=True)}})
    eyes.watched["/tmp"].dispatch(FileCreatedEvent("/tmpfile"))
    assert told == []
    eyes.watched["/tmp"].dispatch(FileCreatedEvent("/tmp/file"))
    eyes.watched["/tmp"].dispatch(FileCreatedEvent("/tmp/file.lock"))
    assert told == ["one"]
