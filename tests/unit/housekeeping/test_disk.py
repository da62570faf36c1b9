"""Levels of a disk, and who waits for room."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog.testing
from hypothesis import given
from hypothesis import strategies as st

from daemon.housekeeping.disk import Disk, DiskLevel, disk_level, look_at_disk
from daemon.housekeeping.room import Room
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import DiskFull
from sandboxes.disk import FREE_BYTES
from sandboxes.sandbox import GIB, MIB
from tests.support.optimizer import WorldHarness, make_skill, make_task, no_wait, verify

OK, LOW, FULL = DiskLevel.OK, DiskLevel.LOW, DiskLevel.FULL


@pytest.mark.parametrize(
    ("free", "total", "level"),
    [
        (200 * GIB, 1000 * GIB, OK),
        (6 * GIB, 1000 * GIB, OK),
        (4 * GIB, 1000 * GIB, LOW),
        (600 * MIB, 1000 * GIB, LOW),
        (500 * MIB, 1000 * GIB, FULL),
        (2 * GIB, 20 * GIB, OK),
        (900 * MIB, 20 * GIB, LOW),
        (150 * MIB, 20 * GIB, FULL),
        (100 * MIB, 1 * GIB, OK),
        (50 * MIB, 1 * GIB, LOW),
        (31 * MIB, 1 * GIB, FULL),
        (0, 1 * GIB, FULL),
        (0, 0, OK),
    ],
)
def test_levels(free: int, total: int, level: DiskLevel) -> None:
    assert disk_level(free, total) is level


@given(st.integers(0, 2**50), st.integers(1, 2**50))
def test_less_room_is_never_better_and_full_is_said_before_an_attempt_fails(free: int, total: int) -> None:
    order = [FULL, LOW, OK]
    assert order.index(disk_level(free // 2, total)) <= order.index(disk_level(free, total))
    if free < FREE_BYTES:
        assert disk_level(free, total) is FULL


def test_a_real_disk_is_looked_at(tmp_path: Path) -> None:
    disk = look_at_disk(tmp_path)
    assert 0 <= disk.free <= disk.total


class Disks:
    """One look after another; the last one stays."""

    def __init__(self, *free: int | OSError) -> None:
        self.free = list(free)
        self.looks = 0

    def __call__(self, folder: Path) -> Disk:
        self.looks += 1
        found = self.free.pop(0) if len(self.free) > 1 else self.free[0]
        if isinstance(found, OSError):
            raise found
        return Disk(found, 100 * GIB)


async def test_a_person_is_told_to_make_room_before_anything_is_paid(tmp_path: Path) -> None:
    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    harness = WorldHarness()
    room = Room(tmp_path, look=Disks(MIB))
    rollouts = Rollouts(harness, verify, journal, attempts_folder=tmp_path, sleep=no_wait, room=room)
    with pytest.raises(DiskFull, match=r"is full: free some space, then the same command goes on"):
        await rollouts.score(make_skill(), [make_task("t0")], run_id="r1")
    assert not harness.runs
    assert await journal.unfinished_attempts() == ()


async def test_a_daemon_waits_until_there_is_room_and_says_each_change_once(tmp_path: Path) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    room = Room(tmp_path, patient=True, look=Disks(MIB, MIB, MIB, 2 * GIB, 50 * GIB), sleep=sleep)
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            await room()
    assert len(waits) == 3
    said = [(row["log_level"], row["before"], row["level"]) for row in logs]
    assert said == [("warning", "ok", "full"), ("warning", "full", "low"), ("info", "low", "ok")]


async def test_a_disk_that_cannot_be_seen_stops_nothing(tmp_path: Path) -> None:
    room = Room(tmp_path, look=Disks(OSError(5, "Input/output error")))
    with structlog.testing.capture_logs() as logs:
        await room()
    assert [row["event"] for row in logs] == ["disk_not_seen"]
