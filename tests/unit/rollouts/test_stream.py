"""Streaming results: the given order, a prefix whatever finishes first, and a clean end when nobody reads on."""

from __future__ import annotations

import asyncio
import random
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.rollouts.attempt import AttemptSettings
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from harnesses.outcome import Outcome
from tests.support.optimizer import WorldHarness, make_skill, make_task, no_wait, verify
from tests.support.waiting import PATIENCE_S

RUN = "r1"
TASKS = [make_task(f"t{i}") for i in range(8)]


async def make(folder: Path, harness: WorldHarness, journal: MemoryJournal | None = None, **options: Any) -> Rollouts:
    journal = journal or MemoryJournal()
    await journal.open_run(RunRecord(RUN, "f", "demo", "c", "open", 0.0))
    return Rollouts(harness, verify, journal, attempts_folder=folder, sleep=no_wait, **options)


@pytest.mark.parametrize("workers", [1, 3, 24])
async def test_results_come_in_the_given_order_whoever_ends_first(tmp_path: Path, workers: int) -> None:
    for seed in range(6):
        rollouts = await make(tmp_path, WorldHarness(chaos=random.Random(seed)), workers=workers)
        order = random.Random(seed).sample(TASKS, len(TASKS))
        got = [result.task async for result in rollouts.stream(make_skill(), order, run_id=RUN)]
        assert got == order


async def test_a_result_is_given_while_later_ones_still_run(tmp_path: Path) -> None:
    gate = asyncio.Event()

    class Held(WorldHarness):
        async def run(self, assignment: Any) -> Any:
            if assignment.task_id == "t1":
                await gate.wait()
            return await super().run(assignment)

    rollouts = await make(tmp_path, Held(), workers=4)
    async with asyncio.timeout(PATIENCE_S), aclosing(rollouts.stream(make_skill(), TASKS, run_id=RUN)) as stream:
        assert (await anext(stream)).task_id == "t0"
        gate.set()
        assert [result.task_id async for result in stream] == [task.id for task in TASKS[1:]]


@pytest.mark.parametrize("workers", [1, 2, 8])
async def test_reading_no_further_starts_nothing_and_lets_running_attempts_end(tmp_path: Path, workers: int) -> None:
    journal = MemoryJournal()
    harness = WorldHarness()
    rollouts = await make(tmp_path, harness, journal, workers=workers)
    async with aclosing(rollouts.stream(make_skill(), TASKS, run_id=RUN)) as stream:
        assert (await anext(stream)).task_id == "t0"
    made = {record.task_id for record in await journal.attempts(RUN)}
    assert "t0" in made
    assert len(made) <= 2 * workers  # one that ended beside the first, and those that ran when reading stopped
    assert harness.running == 0
    assert not await journal.unfinished_attempts()


async def test_what_is_journaled_is_read_back_in_order(tmp_path: Path) -> None:
    harness = WorldHarness()
    rollouts = await make(tmp_path, harness)
    first = [result async for result in rollouts.stream(make_skill(), TASKS, run_id=RUN)]
    again = [result async for result in rollouts.stream(make_skill(), TASKS, run_id=RUN)]
    assert [result.record for result in again] == [result.record for result in first]
    assert all(result.reused for result in again)
    assert harness.runs.total() == len(TASKS)


async def test_another_trial_is_another_attempt(tmp_path: Path) -> None:
    harness = WorldHarness()
    rollouts = await make(tmp_path, harness)
    for trial in (0, 1):
        assert [r async for r in rollouts.stream(make_skill(), TASKS[:2], run_id=RUN, trial=trial)]
    assert harness.runs.total() == 4


@pytest.mark.parametrize("workers", [1, 8])
async def test_a_failure_beyond_help_ends_the_stream_without_waiting_for_earlier_tasks(
    tmp_path: Path, workers: int
) -> None:
    class Stuck(WorldHarness):
        async def run(self, assignment: Any) -> Any:
            if assignment.task_id == "t0" and workers > 1:
                await asyncio.sleep(3600)
            return await super().run(assignment)

    harness = Stuck(failures={"t3": [Outcome.AUTH]})
    rollouts = await make(tmp_path, harness, workers=workers, settings=AttemptSettings(tries=1))
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(RunStopped, match="t3"):
            [result async for result in rollouts.stream(make_skill(), TASKS, run_id=RUN)]


async def test_a_failure_among_those_that_still_run_at_the_close_is_raised(tmp_path: Path) -> None:
    harness = WorldHarness(failures={"t1": [Outcome.AUTH]})
    rollouts = await make(tmp_path, harness, workers=2, settings=AttemptSettings(tries=1))

    async def read_one() -> None:
        async with aclosing(rollouts.stream(make_skill(), TASKS[:2], run_id=RUN)) as stream:
            await anext(stream)

    with pytest.raises(RunStopped, match="t1"):
        await read_one()


async def test_cancelling_the_reader_ends_every_attempt(tmp_path: Path) -> None:
    class Endless(WorldHarness):
        async def run(self, assignment: Any) -> Any:
            self.running += 1
            try:
                await asyncio.sleep(3600)
            finally:
                self.running -= 1

    harness = Endless()
    rollouts = await make(tmp_path, harness, workers=3)

    async def read() -> None:
        async with aclosing(rollouts.stream(make_skill(), TASKS, run_id=RUN)) as stream:
            async for _ in stream:
                pass

    reader = asyncio.create_task(read())
    while harness.running < 3:
        await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert harness.running == 0
