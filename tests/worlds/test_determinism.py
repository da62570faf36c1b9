"""The same world comes to the same commits whatever the workers and the order in which anything is ready."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.journal.sqlite import SqliteJournal
from tests.worlds.stories import MODES, SMALL, bench, story

_calm: dict[str, dict[str, Any]] = {}


async def undisturbed(folder: Path, mode: str) -> dict[str, Any]:
    """One worker, no delays; worked out once a mode."""
    if mode not in _calm:
        made = bench(folder / "calm", SMALL, mode, workers=1)
        _calm[mode] = await story(made, await made.training().run())
    return _calm[mode]


@pytest.mark.parametrize("workers", [1, 4, 24])
async def test_neither_workers_nor_delays_change_a_commit(shm: Path, workers: int) -> None:
    expected = await undisturbed(shm, "default")
    made = bench(shm / "stormy", SMALL, "default", workers=workers, chaos=workers)
    assert await story(made, await made.training().run()) == expected


@pytest.mark.parametrize("mode", sorted(MODES.keys() - {"default"}))
async def test_in_every_mode_24_workers_come_to_what_one_comes_to(shm: Path, mode: str) -> None:
    expected = await undisturbed(shm, mode)
    made = bench(shm / "stormy", SMALL, mode, workers=24, chaos=24)
    assert await story(made, await made.training().run()) == expected


async def test_a_run_has_something_to_be_the_same(shm: Path) -> None:
    stories = {mode: await undisturbed(shm, mode) for mode in MODES}
    assert sum(bool(told["commits"]) for told in stories.values()) >= len(MODES) - 2
    decided = {str([d.payload for d in told["decisions"] if d.kind != "baseline"]) for told in stories.values()}
    assert len(decided) == len(MODES), "every mode decides something of its own"


async def test_the_journal_on_disk_tells_the_same_story(shm: Path) -> None:
    expected = await undisturbed(shm, "default")
    made = bench(shm / "attempts", SMALL, "default", workers=4, chaos=9)
    made.journal = SqliteJournal(shm / "journal.sqlite")
    try:
        assert await story(made, await made.training().run()) == expected
    finally:
        await made.journal.close()


async def test_another_seed_is_another_story(shm: Path) -> None:
    expected = await undisturbed(shm, "default")
    made = bench(shm / "other", SMALL, "default")
    made.train = made.train.model_copy(update={"seed": 43})
    assert (await story(made, await made.training().run()))["decisions"] != expected["decisions"]
