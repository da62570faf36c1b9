"""Faults of peers on resuming a run: none of them is ours. Each test is named after its fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import structlog
import structlog.testing

from daemon.config_train import TrainSection
from daemon.journal.journal import JournalError
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision
from daemon.journal.sqlite import SqliteJournal
from daemon.optimizer.report import RunReport
from daemon.optimizer.schedule import edit_budget
from harnesses.models.client import ModelRequest
from tests.support.optimizer import (
    Killed,
    MortalJournal,
    World,
    WorldHarness,
    edit,
    reflection,
    section,
    sensible,
    task_set,
)


def hard_world(folder: Path, **train: Any) -> World:
    """Every task needs both rules, so the initial skill scores 0.0; one rule is learned a step."""
    tasks = task_set(4, 3, 2)
    needs = {task.id: ["rule-a"] for task in tasks.tasks}
    knobs = {"epochs": 2, "batch": 1, "minibatch": 1, "edit_budget": 1, "min_edit_budget": 1, "gate": "strict", **train}
    return World(folder, WorldHarness(needs), tasks, train=TrainSection(**knobs), workers=1)


class DyingAt:
    """A memory journal whose process dies right after a decision of one kind and step stands."""

    def __init__(self, step: int, kind: str = "step") -> None:
        self.memory = MemoryJournal()
        self.mortal = MortalJournal(self.memory)
        self._place = (step, kind)
        self._save = self.memory.save_decision
        self.memory.save_decision = self._last_words  # type: ignore[method-assign]

    async def _last_words(self, decision: Decision) -> None:
        await self._save(decision)
        if (decision.step, decision.kind) == self._place:
            self.mortal.dead = True

    def revived(self) -> MemoryJournal:
        """What the dead process left."""
        self.memory.save_decision = self._save  # type: ignore[method-assign]
        return self.memory


async def resumed(world: World, step: int, kind: str = "step") -> RunReport:
    """The report of the second process, the first one having died after a decision."""
    dying = DyingAt(step, kind)
    world.journal = dying.mortal
    with pytest.raises(Killed):
        await world.training().run()
    world.journal = dying.revived()
    report = await world.training().run()
    assert report.resumed
    return report


async def test_a_stored_score_of_zero_is_taken_for_no_score(tmp_path: Path) -> None:
    """`float(x or -1.0)`: a peer measured the baseline again and began at step 0."""
    world = hard_world(tmp_path)
    report = await resumed(world, 0, "baseline")
    assert report.selection.before is not None
    assert report.selection.before.score == 0.0
    base = world.skill.digest
    assert all(world.harness.runs[base, f"selection-0{i}"] == 1 for i in range(3))
    assert [step.step for step in report.steps] == list(range(1, len(report.steps) + 1))


async def test_a_stored_score_of_zero_loses_the_steps_that_are_done(tmp_path: Path) -> None:
    world = hard_world(tmp_path)
    world.harness.needs = {task: ["rule-z"] for task in world.harness.needs}
    world.client.reply = lambda request: reflection()
    report = await resumed(world, 3)
    asked = [section(request, "current_skill") for request in world.client.asked("reflect_failures")]
    assert len(asked) == len(report.steps) == 8


async def test_a_resumed_run_follows_another_schedule(tmp_path: Path) -> None:
    """Skipped steps did not advance a peer's schedule, but resuming did."""
    world = hard_world(tmp_path, edit_budget=4, schedule="linear")
    world.client.reply = lambda request: reflection()
    report = await resumed(world, 5)
    assert [step.budget for step in report.steps] == [
        edit_budget("linear", step, 8, most=4, least=1) for step in range(1, 9)
    ]


def stubborn(request: ModelRequest) -> dict[str, Any]:
    """It always wants the same edit."""
    return reflection(edit("- no use")) if request.schema_name == "reflect_failures" else sensible(request)


async def test_the_rejected_edits_are_forgotten_on_resume(tmp_path: Path) -> None:
    world = hard_world(tmp_path, epochs=1)
    world.client.reply = stubborn
    report = await resumed(world, 1)
    assert [step.outcome for step in report.steps] == ["rejected", "no_change", "no_change", "no_change"]
    last = world.client.asked("reflect_failures")[-1]
    assert "- no use" in section(last, "earlier_steps")


async def test_another_config_goes_on_with_the_same_run(tmp_path: Path) -> None:
    """No fingerprint: a peer reused the rows of another model without a word."""
    world = hard_world(tmp_path)
    dying = DyingAt(1)
    world.journal = dying.mortal
    with pytest.raises(Killed):
        await world.training().run()
    world.journal = dying.revived()
    world.train = world.train.model_copy(update={"seed": 43, "edit_budget": 2})
    structlog.reset_defaults()
    with structlog.testing.capture_logs() as logs:
        report = await world.training().run()
    assert not report.resumed
    [said] = [row for row in logs if "other settings" in row["event"]]
    assert said["changed"] == ["train.edit_budget", "train.seed"]
    assert {run.state for run in await dying.memory.find_runs()} == {"open", "done"}


async def test_rows_of_another_model_are_reused(tmp_path: Path) -> None:
    world = hard_world(tmp_path)
    await world.training().run()
    before = sum(world.harness.runs.values())
    world.harness.settings = lambda: {"provider": "fakeprovider", "model": "fake-2"}  # type: ignore[method-assign]
    report = await world.training().run()
    assert sum(world.harness.runs.values()) - before == report.attempts > 0


async def test_a_crash_in_the_middle_of_a_rollout_loses_all_of_it(tmp_path: Path) -> None:
    """A peer wrote results at the end of a rollout: here each attempt stands as soon as it is scored."""
    world = hard_world(tmp_path, batch=4)
    memory = MemoryJournal()
    world.journal = MortalJournal(memory, 2 + 2 * 3 + 2 * 2)  # run, baseline's 3 attempts, 2 of the rollout's 4
    with pytest.raises(Killed):
        await world.training().run()
    world.journal = memory
    report = await world.training().run()
    train = {task: world.harness.runs[world.skill.digest, task] for task in world.harness.needs if "train" in task}
    assert report.resumed
    assert sorted(train.values()) in ([1, 1, 1, 1], [1, 1, 1, 2]), "at most the one in flight is run again"


async def test_a_part_of_a_rollout_is_taken_for_the_whole(tmp_path: Path) -> None:
    """Any non-empty results file was complete to a peer."""
    world = hard_world(tmp_path, batch=4)
    memory = MemoryJournal()
    world.journal = MortalJournal(memory, 2 + 2 * 3 + 2 * 2)
    with pytest.raises(Killed):
        await world.training().run()
    world.journal = memory
    report = await world.training().run()
    assert report.steps[0].rollout.asked == report.steps[0].rollout.valid == 4


async def test_costs_cover_the_last_process_alone(tmp_path: Path) -> None:
    whole = await hard_world(tmp_path / "whole").training().run()
    report = await resumed(hard_world(tmp_path / "parts"), 1)
    assert report.target_usage == whole.target_usage
    assert report.optimizer_usage == whole.optimizer_usage
    assert report.attempts == whole.attempts


async def test_a_crashed_report_scores_the_test_split_again(tmp_path: Path) -> None:
    """Reserve, then score: what the reservation names is scored, once."""
    world = hard_world(tmp_path)
    steps = 8
    report = await resumed(world, steps + 1, "test_reserved")
    assert report.test.after is not None
    tests = {key: count for key, count in world.harness.runs.items() if key[1].startswith("test-")}
    assert set(tests.values()) == {1}
    assert len(tests) == 4


async def test_a_decision_is_written_half(tmp_path: Path) -> None:
    """A peer's history.json was cut by the kill, and the next start died on it: a journal row stands whole or not."""
    journal = SqliteJournal(tmp_path / "journal.sqlite")
    world = hard_world(tmp_path / "attempts")
    world.journal = MortalJournal(journal, 20)
    with pytest.raises(Killed):
        await world.training().run()
    await journal.close()
    world.journal = again = SqliteJournal(tmp_path / "journal.sqlite")
    assert (await world.training().run()).resumed
    await again.close()


async def test_a_damaged_history_ends_in_a_traceback(tmp_path: Path) -> None:
    """It is named, with what to do; nothing is guessed from what is left."""
    file = tmp_path / "journal.sqlite"
    file.write_bytes(b"SQLite format 3\x00" + b"\x07" * 4000)
    world = hard_world(tmp_path / "attempts")
    world.journal = journal = SqliteJournal(file)
    with pytest.raises(JournalError, match=r"journal\.sqlite") as caught:
        await world.training().run()
    assert "\n" not in str(caught.value)
    assert "restore a backup" in str(caught.value)
    await journal.close()
    assert not world.harness.runs


async def test_an_attempt_that_was_cut_off_counts_as_a_failure(tmp_path: Path) -> None:
    """What was in flight when the process died has no score: it is made anew, and only it."""
    world = hard_world(tmp_path)
    memory = MemoryJournal()
    world.journal = MortalJournal(memory, 4, before=True)  # planned, and dead before it could be finished
    with pytest.raises(Killed):
        await world.training().run()
    assert len(await memory.unfinished_attempts()) == 1
    world.journal = memory
    report = await world.training().run()
    assert report.invalid == 0
    assert report.selection.before is not None
    assert report.selection.before.n == 3
