"""Files, the drop folder and watched folders are taken in once, and stop at nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from daemon.inbox import intake as intake_module
from daemon.inbox.intake import DAY_S, Intake, Taken
from daemon.inbox.memory import MemoryInbox
from daemon.inbox.reading import SETTLED_S
from tests.support.sessions import Session, troubled


class Clock:
    """Stands an hour after the newest file, until it is moved."""

    def __init__(self, folder: Path) -> None:
        self.now = folder.stat().st_mtime + 3_600

    def __call__(self) -> float:
        return self.now


@pytest.fixture(name="clock")
def _clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


@pytest.fixture(name="intake")
def _intake(clock: Clock) -> Intake:
    return Intake(MemoryInbox(), 500, 3_650.0, clock)


def came(taken: tuple[Taken, ...]) -> list[tuple[str, str]]:
    return [(one.file.name, one.came) for one in taken]


async def test_a_sweep_takes_in_what_is_new_and_then_what_changed(tmp_path: Path, intake: Intake) -> None:
    troubled(1).write(tmp_path / "p" / "q" / "b.jsonl")
    troubled(2).write(tmp_path / "p" / "a.jsonl")
    (tmp_path / "p" / "notes.txt").write_text("no session")
    assert came(await intake.sweep([tmp_path / "p", tmp_path / "missing"])) == [("a.jsonl", "new"), ("b.jsonl", "new")]
    assert came(await intake.sweep([tmp_path / "p"])) == [("a.jsonl", "unchanged"), ("b.jsonl", "unchanged")]
    troubled(2).said("and more").answered().write(tmp_path / "p" / "a.jsonl")
    assert came(await intake.sweep([tmp_path / "p"])) == [("a.jsonl", "grown"), ("b.jsonl", "unchanged")]
    assert sorted(one.turns for one in await intake.inbox.sessions()) == [2, 3]


async def test_the_same_session_in_two_places_is_one(tmp_path: Path, intake: Intake) -> None:
    session = troubled()
    files = [session.write(tmp_path / name / "s.jsonl") for name in ("a", "b")]
    assert [one.came for one in await intake.add(files)] == ["new", "known"]
    assert len(await intake.inbox.sessions()) == 1


async def test_a_live_session_is_read_again_until_it_is_over(tmp_path: Path, intake: Intake, clock: Clock) -> None:
    file = Session().said("go").called("ls").write(tmp_path / "a.jsonl")
    clock.now = file.stat().st_mtime + 1
    assert came(await intake.sweep([tmp_path])) == [("a.jsonl", "new")]
    assert came(await intake.sweep([tmp_path])) == [("a.jsonl", "known")]
    clock.now += SETTLED_S
    assert came(await intake.sweep([tmp_path])) == [("a.jsonl", "grown")], "nobody wrote, and yet it says more"
    assert came(await intake.sweep([tmp_path])) == [("a.jsonl", "unchanged")]
    [record] = await intake.inbox.sessions()
    assert [one.label for one in record.incidents] == ["ended without an answer"]


async def test_what_is_no_session_stops_nothing_and_is_not_read_twice(tmp_path: Path, intake: Intake) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n" * 200)
    (tmp_path / "b.jsonl").symlink_to(troubled(1).write(tmp_path.parent / f"{tmp_path.name}-elsewhere.jsonl"))
    os.mkfifo(tmp_path / "c.jsonl")
    troubled(2).write(tmp_path / "d.jsonl")
    assert came(await intake.sweep([tmp_path])) == [("a.jsonl", "refused"), ("d.jsonl", "new")], (
        "links, pipes: not seen"
    )
    assert came(await intake.sweep([tmp_path])) == [("a.jsonl", "unchanged"), ("d.jsonl", "unchanged")]
    named = await intake.add([tmp_path / name for name in ("b.jsonl", "c.jsonl", "nosuch.jsonl")])
    assert [one.came for one in named] == ["refused"] * 3
    assert all(one.reason for one in named)


async def test_links_to_folders_are_not_followed_and_depth_is_bounded(tmp_path: Path, intake: Intake) -> None:
    watched = tmp_path / "w"
    troubled(1).write(tmp_path / "elsewhere" / "a.jsonl")
    troubled(2).write(watched.joinpath(*"abcdefghijklmn") / "deep.jsonl")
    troubled(3).write(watched / "near.jsonl")
    (watched / "link").symlink_to(tmp_path / "elsewhere")
    (watched / "loop").symlink_to(watched)
    assert came(await intake.sweep([watched])) == [("near.jsonl", "new")]


async def test_of_too_many_files_the_newest_are_read(
    tmp_path: Path, intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake_module, "MOST_FILES", 2)
    for number in range(4):
        file = troubled(number).write(tmp_path / f"{number}.jsonl")
        os.utime(file, (2_000_000_000 - number, 2_000_000_000 - number))
    assert [name for name, _ in came(await intake.sweep([tmp_path]))] == ["0.jsonl", "1.jsonl"]


async def test_what_is_older_than_is_kept_is_refused_and_what_is_too_much_goes(tmp_path: Path, clock: Clock) -> None:
    intake = Intake(MemoryInbox(), 2, 3_650.0, clock)
    for number in range(4):
        troubled(number).write(tmp_path / f"{number}.jsonl")
    await intake.sweep([tmp_path])
    assert len(await intake.inbox.sessions()) == 2
    clock.now += 3_651 * DAY_S
    os.utime(tmp_path / "0.jsonl", (clock.now, clock.now))
    taken = await intake.add([tmp_path / "0.jsonl", tmp_path / "1.jsonl"])
    assert [one.came for one in taken] == ["refused", "refused"]
    assert all("keep_days" in one.reason for one in taken)
    assert await intake.inbox.sessions() == ()
    swept = await intake.sweep([tmp_path])
    assert {one.came for one in swept} == {"old", "unchanged"}


async def test_files_that_nobody_writes_to_are_looked_at_together(
    tmp_path: Path, intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        troubled(number).write(tmp_path / "p" / f"{number}.jsonl")
    os.utime(tmp_path / "p" / "0.jsonl", (0, 0))
    await intake.sweep([tmp_path / "p"])
    alone: list[Path] = []

    async def one(self: Intake, file: Path, *, again: bool) -> Taken:
        alone.append(file)
        return Taken(file, "known")

    monkeypatch.setattr(Intake, "_one", one)
    again = await intake.sweep([tmp_path / "p"])
    assert (came(again)[0], alone) == (("0.jsonl", "old"), [])
    assert {one.came for one in again[1:]} == {"unchanged"}
    troubled(3).said("more").answered().write(tmp_path / "p" / "3.jsonl")
    await intake.sweep([tmp_path / "p"])
    assert [file.name for file in alone] == ["3.jsonl"]
