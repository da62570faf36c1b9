"""Killed at any write and started again: the same decisions and commits, and nothing finished is paid for twice."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision
from daemon.optimizer.report import RunReport
from daemon.rollouts.stop import RunStopped
from harnesses.outcome import Outcome
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import Author, EditCommit
from tests.support.optimizer import Killed, MortalJournal, World, WorldHarness, make_skill, task_set


def overfitting(folder: Path, seed: int | None = None, workers: int = 2) -> World:
    """`rule-a` helps everywhere, `rule-h` only train-01 while it breaks selection tasks: one is kept, one rejected."""
    tasks = task_set(4, 3, 2)
    needs = {task.id: ["rule-a"] for task in tasks.tasks} | {"train-01": ["rule-h"], "selection-02": ["rule-z"]}
    breaks = {"selection-00": ["rule-h"], "selection-01": ["rule-h"]}
    world = World(folder, WorldHarness(needs, breaks), tasks, workers=workers)
    world.train = TrainSection(
        gate="strict", epochs=2, batch=2, minibatch=1, merge_batch=2, edit_budget=1, min_edit_budget=1, seed=3
    )
    if seed is not None:
        world.harness.chaos = random.Random(seed)
        world.client.chaos = random.Random(seed + 1)
    return world


async def story(world: World, report: RunReport) -> dict[str, Any]:
    """Everything that must be the same: decisions, commits, figures."""
    journal = world.journal.inner if isinstance(world.journal, MortalJournal) else world.journal
    return {
        "decisions": await journal.decisions(report.run_id),
        "commits": report.commits,
        "text": (await world.history.read(await world.history.base())).text,
        "test": report.test,
        "edits": report.edits,
        "optimizer": report.optimizer_usage,
    }


async def test_the_world_has_something_to_keep_and_something_to_reject(tmp_path: Path) -> None:
    report = await overfitting(tmp_path).training().run()
    outcomes = [step.outcome for step in report.steps]
    assert outcomes.count("accepted") == 1
    assert "rejected" in outcomes
    assert report.accepted == 1
    assert report.rejected >= 1


@pytest.mark.parametrize("before", [True, False], ids=["lost", "written"])
async def test_killed_at_every_write_it_comes_to_the_same_end(tmp_path: Path, *, before: bool) -> None:
    """Dying after a write is dying before the next one, so of these every second is enough.

    But not after a decision or the last one: commits come between, or nothing does.
    """
    plain = overfitting(tmp_path / "plain")
    plain.journal = MortalJournal(MemoryJournal())
    expected = await story(plain, await plain.training().run())
    writes = plain.journal.writes
    assert writes > 40
    for at, name in enumerate(plain.journal.made, 1):
        if not (before or at % 2 or at == writes or name == "save_decision"):
            continue
        world = overfitting(tmp_path / str(at))
        memory = MemoryJournal()
        world.journal = MortalJournal(memory, at, before=before)
        with pytest.raises(Killed):
            await world.training().run()
        ended = [run.state for run in await memory.find_runs()] == ["done"]
        world.journal = MortalJournal(memory)
        if ended:  # it died after its last write: nothing is left to do
            assert at == writes
            continue
        report = await world.training().run()
        assert report.resumed is (at > 1 or not before)
        assert await story(world, report) == expected, f"killed at write {at}"


async def test_killed_many_times_it_comes_to_the_same_end(tmp_path: Path) -> None:
    plain = overfitting(tmp_path / "plain")
    expected = await story(plain, await plain.training().run())
    world = overfitting(tmp_path / "killed", seed=7)
    memory = MemoryJournal()
    dice = random.Random(1)
    kills = 0
    while True:
        world.journal = MortalJournal(memory, dice.randint(2, 12), before=dice.random() < 0.5)
        try:
            report = await world.training().run()
        except Killed:
            kills += 1
            assert kills < 200
        else:
            break
    assert kills > 5
    assert await story(world, report) == expected


@pytest.mark.parametrize("workers", [1, 2, 8])
@pytest.mark.parametrize("seed", range(4))
async def test_neither_workers_nor_order_of_completion_change_anything(tmp_path: Path, seed: int, workers: int) -> None:
    plain = overfitting(tmp_path / "plain")
    expected = await story(plain, await plain.training().run())
    world = overfitting(tmp_path / "chaos", seed, workers)
    assert await story(world, await world.training().run()) == expected


async def test_a_commit_beside_the_skill_during_the_pause_is_built_upon(tmp_path: Path) -> None:
    """A run that would go on under the person's commit could never move the branch: all it decided would be lost."""
    world = overfitting(tmp_path)
    memory = MemoryJournal()
    world.journal = MortalJournal(memory, 6)
    with pytest.raises(Killed):
        await world.training().run()
    history = world.history
    assert isinstance(history, FakeSkillRepository)
    beside = history.human_commit(world.skill.files, "Mend the README")
    world.journal = MortalJournal(memory)
    report = await world.training().run()
    assert report.resumed
    assert report.accepted == 1
    [commit] = [c for c in await history.log() if c.sha == report.commits[0]]
    assert commit.parents == (beside,)


async def test_the_optimizers_host_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    training = overfitting(tmp_path).training()
    elsewhere = replace(training, knobs=replace(training.knobs, optimizer_host="models.example"))
    assert elsewhere.fingerprint().digest != training.fingerprint().digest


async def test_costs_of_before_a_restart_are_counted(tmp_path: Path) -> None:
    plain = overfitting(tmp_path / "plain")
    whole = await plain.training().run()
    world = overfitting(tmp_path / "killed", workers=1)
    memory = MemoryJournal()
    world.journal = MortalJournal(memory, 30)
    with pytest.raises(Killed):
        await world.training().run()
    world.journal = memory
    report = await world.training().run()
    assert report.target_usage == whole.target_usage
    assert report.optimizer_usage == whole.optimizer_usage
    assert report.attempts == whole.attempts


async def test_another_configuration_is_another_run(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    memory = MemoryJournal()
    world.journal = MortalJournal(memory, 12)
    with pytest.raises(Killed):
        await world.training().run()
    world.journal = memory
    world.train = world.train.model_copy(update={"seed": 4})
    report = await world.training().run()
    assert not report.resumed
    assert len(await memory.find_runs()) == 2


async def test_a_finished_run_is_not_resumed_and_the_next_one_pays_for_nothing_it_knows(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    first = await world.training().run()
    runs = world.harness.runs.copy()
    second = await world.training().run()
    assert second.run_id != first.run_id
    assert not second.resumed
    assert second.base_commit == first.commits[-1]
    again = {key for key, count in world.harness.runs.items() if count > 1}
    assert not again
    assert second.test.before == first.test.after
    assert sum(world.harness.runs.values()) - sum(runs.values()) == second.attempts


async def test_a_decision_that_stands_is_kept_with_its_date_whatever_has_changed_since(tmp_path: Path) -> None:
    """An attempt that was invalid then would be valid now: what was decided without it stays decided."""
    world = overfitting(tmp_path, workers=1)
    world.harness.failures = {"train-01": [Outcome.OUT_OF_MEMORY] * 3}
    memory = MemoryJournal()
    world.journal = dying = MortalJournal(memory, before=False)
    save = memory.save_decision

    async def last_words(decision: Decision) -> None:
        dying.at = dying.writes if decision.payload.get("outcome") == "accepted" else None
        dying.dead = dying.at is not None
        await save(decision)

    memory.save_decision = last_words  # type: ignore[method-assign]
    with pytest.raises(Killed):
        await world.training().run()
    del memory.save_decision
    [run] = await memory.find_runs()
    decided = (await memory.decisions(run.run_id))[-1]
    assert decided.payload["rollout"]["invalid"] == ["train-01: out_of_memory"]
    world.journal, world.now = memory, world.now + 3600
    report = await world.training().run()
    assert report.resumed
    assert await memory.find_decision(run.run_id, decided.step, "step") == decided
    commits = {commit.sha: commit for commit in await world.history.log()}
    assert commits[report.commits[0]].when == decided.payload["when"] == world.now - 3600


async def test_interrupted_politely_it_goes_on_as_well(tmp_path: Path) -> None:
    plain = overfitting(tmp_path / "plain")
    expected = await story(plain, await plain.training().run())
    world = overfitting(tmp_path / "interrupted")
    world.journal = watch = MortalJournal(MemoryJournal())
    interruptions = 0
    while True:
        job = asyncio.ensure_future(world.training().run())
        goal = watch.writes + 9
        while not job.done() and watch.writes < goal:
            await asyncio.sleep(0)
        if job.done():
            break
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job
        interruptions += 1
        assert world.harness.running == 0
        assert [run.state for run in await watch.find_runs()] == ["open"]
    assert interruptions > 3
    assert await story(world, job.result()) == expected


async def test_a_commit_beside_the_skill_on_top_of_the_runs_own_is_built_upon_too(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    world.harness.needs = {**world.harness.needs, "train-00": ["rule-b"], "selection-02": ["rule-b"]}
    plain = overfitting(tmp_path / "plain")
    plain.harness.needs = world.harness.needs
    expected = await plain.training().run()
    assert expected.accepted == 2
    memory = MemoryJournal()
    world.journal = dying = MortalJournal(memory, before=False)
    save = memory.save_decision

    async def last_words(decision: Decision) -> None:
        await save(decision)
        dying.dead = decision.kind == "commits"
        dying.at = dying.writes if dying.dead else None

    memory.save_decision = last_words  # type: ignore[method-assign]
    with pytest.raises(Killed):
        await world.training().run()
    del memory.save_decision
    history = world.history
    assert isinstance(history, FakeSkillRepository)
    beside = history.human_commit((await history.read(history.branch)).files, "Mend the README")
    world.journal = memory
    report = await world.training().run()
    assert report.resumed
    assert report.commits[0] == expected.commits[0]
    [later] = [row for row in await history.log() if row.sha == report.commits[1]]
    assert later.parents == (beside,)
    assert (await history.read(history.branch)).digest == expected.best_digest


class Crowded(FakeSkillRepository):
    """Somebody commits to the branch just before honed's first commit: a change of the skill, and its revert."""

    came = False

    async def commit_edits(self, parent: str, changes: Sequence[EditCommit], when: float) -> tuple[str, ...]:
        if not self.came:
            self.came = True
            changed = EditCommit(make_skill("- Be bold."), "Be bold")
            await super().commit_edits(parent, [changed, EditCommit(await self.read(parent), "Think again")], when)
        return await super().commit_edits(parent, changes, when)


async def test_a_branch_moved_before_a_commit_stops_the_run_and_the_same_run_goes_on_above(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    world.history = Crowded(world.skill, author=Author("honed", "honed@localhost"))
    with pytest.raises(RunStopped, match=r"somebody moved it.*run `honed train` again"):
        await world.training().run()
    [stopped] = await world.journal.find_runs("skills/demo")
    asked = len(world.client.requests)
    report = await world.training().run()
    assert (report.run_id, report.resumed) == (stopped.run_id, True)
    assert report.accepted == 1
    assert len(report.commits) == 1
    plain = overfitting(tmp_path / "plain")
    await plain.training().run()
    assert len(world.client.requests) == len(plain.client.requests) > asked, "nothing is asked twice"
