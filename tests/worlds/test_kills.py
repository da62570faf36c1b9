"""Killed at any write of any mode and started again: the same story, and nothing finished is paid for twice.

`MortalJournal` also watches: it fails the test if an attempt with a score is planned again, or a prompt with a reply
is asked again.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from daemon.journal.memory import MemoryJournal
from tests.support.optimizer import Killed, MortalJournal
from tests.worlds.runs import Bench
from tests.worlds.stories import MODES, TINY, bench, story


async def finish(made: Bench, memory: MemoryJournal) -> dict[str, Any] | None:
    """A new process over what the killed one left; None if that had ended its run."""
    if [run.state for run in await memory.find_runs()] == ["done"]:
        return None
    made.journal = MortalJournal(memory)
    return await story(made, await made.training().run())


async def undisturbed(folder: Path, mode: str) -> tuple[dict[str, Any], int]:
    """The story, and how many writes it takes."""
    made = bench(folder, TINY, mode)
    made.journal = watch = MortalJournal(MemoryJournal())
    told = await story(made, await made.training().run())
    return told, watch.writes


async def killed(folder: Path, mode: str, at: int, *, before: bool) -> dict[str, Any] | None:
    """The story of a run that dies at one write."""
    made = bench(folder, TINY, mode)
    memory = MemoryJournal()
    made.journal = MortalJournal(memory, at, before=before)
    with pytest.raises(Killed):
        await made.training().run()
    return await finish(made, memory)


@pytest.mark.parametrize(("before", "every"), [(True, 1), (False, 2)], ids=["lost", "written"])
async def test_killed_at_every_write(shm: Path, *, before: bool, every: int) -> None:
    """Dying after a write leaves the journal as dying before the next one does: every second one is enough."""
    expected, writes = await undisturbed(shm / "calm", "strict")
    outcomes = {d.payload.get("outcome") for d in expected["decisions"] if d.kind in ("step", "slow_update")}
    assert {"accepted", "rejected"} <= outcomes
    for at in range(1, writes + 1, every):
        told = await killed(shm / f"{at}", "strict", at, before=before)
        assert told == expected if told else at == writes, f"killed at write {at} of {writes}"


@pytest.mark.parametrize("mode", sorted(MODES.keys() - {"strict"}))
async def test_killed_at_some_writes_in_every_mode(shm: Path, mode: str) -> None:
    expected, writes = await undisturbed(shm / "calm", mode)
    dice = random.Random(mode)
    for at in sorted(dice.sample(range(1, writes), 6)):
        told = await killed(shm / f"{at}", mode, at, before=dice.random() < 0.5)
        assert told == expected, f"killed at write {at} of {writes}"


@pytest.mark.parametrize("mode", MODES)
async def test_killed_again_and_again(shm: Path, mode: str) -> None:
    expected, writes = await undisturbed(shm / "calm", mode)
    dice = random.Random(f"{mode}/again")
    made = bench(shm / "killed", TINY, mode, workers=4, chaos=5)
    memory = MemoryJournal()
    kills = 0
    while True:
        made.journal = MortalJournal(memory, dice.randint(1, writes // 4))
        try:
            report = await made.training().run()
        except Killed:
            kills += 1
            assert kills < 200
        else:
            break
    assert kills >= 3
    assert await story(made, report) == expected
