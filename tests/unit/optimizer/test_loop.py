"""The whole loop on fakes: what is learned, said, committed and reported."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon import __version__
from daemon.config_train import TrainSection
from daemon.journal.journal import JournalError
from daemon.rollouts.progress import AttemptFinished, Event, PhaseStarted, RunEnded, RunStarted, StepDecided
from daemon.rollouts.stop import RunStopped
from daemon.tasks.task import TaskSet
from harnesses.harness import Assignment, Attempt
from harnesses.models.client import ModelRequest
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import ProviderError, ProviderFailure, Usage
from skills_repo.fake import FakeSkillRepository
from tests.support.optimizer import (
    Heard,
    ScriptedOptimizer,
    World,
    WorldHarness,
    edit,
    make_skill,
    reflection,
    sensible,
    task_set,
)


def small(folder: Path, **train: Any) -> World:
    """Four train, selection and test tasks: even ones need rule-a, odd ones rule-b."""
    tasks = task_set(4, 4, 4)
    needs = {task.id: ["rule-b" if int(task.id[-2:]) % 2 else "rule-a"] for task in tasks.tasks}
    knobs = TrainSection(
        **{"gate": "strict", "epochs": 1, "batch": 2, "minibatch": 2, "edit_budget": 1, "min_edit_budget": 1, **train}
    )
    return World(folder, WorldHarness(needs), tasks, train=knobs)


async def test_a_skill_learns_the_rules_that_its_tasks_need(tmp_path: Path) -> None:
    world = small(tmp_path, epochs=3, seed=1)
    report = await world.training().run()
    text = (await world.history.read(world.history.branch)).text
    assert "rule-a" in text
    assert "rule-b" in text
    assert report.selection.before is not None
    assert report.selection.after is not None
    assert report.test.before is not None
    assert report.test.after is not None
    assert (report.selection.before.score, report.selection.after.score) == (0.0, 1.0)
    assert (report.test.before.score, report.test.after.score) == (0.0, 1.0)
    assert len(report.commits) == report.accepted == 2


async def test_a_perfect_selection_score_ends_the_run_in_words(tmp_path: Path) -> None:
    """Fault of a peer: no stop at score 1.0."""
    world = small(tmp_path, epochs=9, seed=1)
    report = await world.training().run()
    assert len(report.steps) < 18
    last = report.steps[-1]
    assert last.outcome == "accepted"
    assert report.ended == (f"after step {last.step} the selection score is 1.0: nothing better can be found")


async def test_a_perfect_score_over_part_of_the_split_ends_nothing(tmp_path: Path) -> None:
    """What could not be measured (a failure of ours) is not solved: there may be something to learn."""
    world = small(tmp_path, min_valid=0.7)
    world.harness.needs = {task_id: rules for task_id, rules in world.harness.needs.items() if "train" in task_id}
    world.harness.needs["selection-00"] = ["rule-a"]
    world.harness.failures["selection-00"] = [Outcome.VERIFIER_FAILED]
    report = await world.training().run()
    assert report.steps
    assert report.accepted == 1


async def test_a_skill_that_is_perfect_already_is_left_alone(tmp_path: Path) -> None:
    world = small(tmp_path)
    world.harness.needs = {}
    report = await world.training().run()
    assert report.steps == ()
    assert "the selection score is 1.0" in report.ended
    assert report.test.before == report.test.after
    assert world.client.requests == []
    assert all(count == 1 for count in world.harness.runs.values())


async def test_every_accepted_edit_is_a_commit_that_tells_why(tmp_path: Path) -> None:
    world = small(tmp_path, epochs=3, seed=1)
    report = await world.training().run()
    log = await world.history.log()
    mine = [commit for commit in log if commit.kind == "edit"]
    assert [commit.sha for commit in reversed(mine)] == list(report.commits)
    trailers = mine[-1].trailers
    assert trailers["Honed-Run"] == report.run_id
    assert trailers["Honed-Step"] == f"{report.steps[0].step}.1/1"
    assert trailers["Honed-Target"] == "chat / fake-1"
    assert trailers["Honed-Optimizer"] == f"fakeprovider / optimizer-1 (honed {__version__})"
    # Two train tasks and four of the candidate, at 15 tokens and 0.25; one reply of 120 tokens and 0.5.
    assert trailers["Honed-Cost"] == "attempts=6 tokens=210 usd=2.0000"
    assert "before=0.000 after=0.500" in trailers["Honed-Gate"]
    assert set(trailers["Honed-Evidence"].split()) <= {f"train-0{i}" for i in range(4)}
    assert {commit.when for commit in mine} == {1_700_000_000.0}


async def test_the_steps_budgets_follow_the_schedule(tmp_path: Path) -> None:
    world = small(tmp_path, epochs=4, edit_budget=4, min_edit_budget=2)
    world.harness.needs |= {f"selection-0{i}": ["rule-never"] for i in range(4)}
    report = await world.training().run()
    assert [step.budget for step in report.steps] == [4, 4, 3, 3, 3, 2, 2, 2]


async def test_a_step_without_edits_does_not_shift_the_schedule(tmp_path: Path) -> None:
    """Fault of a peer: skipped steps did not advance the scheduler, but a resume did."""
    world = small(tmp_path, epochs=4, edit_budget=4, min_edit_budget=2)
    world.harness.needs |= {f"selection-0{i}": ["rule-never"] for i in range(4)}
    world.client = ScriptedOptimizer(
        lambda request: reflection() if "reflect" in request.schema_name else sensible(request)
    )
    report = await world.training().run()
    assert {step.outcome for step in report.steps} == {"no_edits"}
    assert [step.budget for step in report.steps] == [4, 4, 3, 3, 3, 2, 2, 2]


async def test_an_epoch_of_solved_tasks_ends_the_run_in_words(tmp_path: Path) -> None:
    """Fault of a peer: success analysts ran for 33 of 40 steps at a score of 1.0."""
    world = small(tmp_path, epochs=4)
    world.harness.needs = {f"selection-0{i}": ["rule-never"] for i in range(4)}
    report = await world.training().run()
    assert [step.outcome for step in report.steps] == ["nothing_to_learn"] * 2
    assert report.ended == "every train task of epoch 1 was solved: nothing is left to learn from"
    assert not report.failed
    assert world.client.requests == []


async def test_a_baseline_of_zero_is_measured_once(tmp_path: Path) -> None:
    """Fault of a peer: a stored score of 0.0 was measured again."""
    world = small(tmp_path)
    await world.training().run()
    assert all(count == 1 for count in world.harness.runs.values())


async def test_test_tasks_are_run_last_and_only_for_the_initial_and_the_best_skill(tmp_path: Path) -> None:
    world = small(tmp_path, epochs=3, seed=1)
    heard = Heard()
    world.observer = heard
    report = await world.training().run()
    order = [e.task_id.split("-")[0] for e in heard.events if isinstance(e, AttemptFinished)]
    assert set(order[order.index("test") :]) == {"test"}
    skills = {digest for digest, task_id in world.harness.runs if task_id.startswith("test")}
    assert skills == {make_skill().digest, report.best_digest}


async def test_no_selection_or_test_text_and_no_gold_reaches_the_optimizer(tmp_path: Path) -> None:
    world = small(tmp_path, epochs=2)
    await world.training().run()
    asked = "\n".join(f"{r.system}\n{r.messages[0].content}" for r in world.client.requests)
    assert "train-00" in asked
    for secret in ("GOLD-", "selection-0", "test-0"):
        assert secret not in asked


async def test_the_run_is_told_from_beginning_to_end(tmp_path: Path) -> None:
    world = small(tmp_path, batch=4, edit_budget=2)
    heard = Heard()
    world.observer = heard
    report = await world.training().run()
    first, last = heard.events[0], heard.events[-1]
    assert first == RunStarted(report.run_id, "skills/demo", resumed=False, steps=1, train=4, selection=4, test=4)
    assert last == RunEnded(report.run_id, "done", report.ended)
    phases = [event.phase for event in heard.events if isinstance(event, PhaseStarted)]
    assert phases == ["baseline", "rollout", "merge", "rank", "gate", "commit", "report", "test"]
    [decided] = [event for event in heard.events if isinstance(event, StepDecided)]
    assert (decided.outcome, decided.before, decided.after, decided.edits) == ("accepted", 0.0, 1.0, 2)
    assert decided.commits == report.commits


async def test_costs_are_summed_for_target_and_optimizer(tmp_path: Path) -> None:
    world = small(tmp_path, batch=4, edit_budget=2)
    report = await world.training().run()
    assert report.attempts == sum(world.harness.runs.values()) == 20
    assert report.target_usage == Usage(20, 200, 0, 100, 5.0)
    assert report.optimizer_usage == Usage(3, 300, 0, 60, 1.5)
    assert report.invalid == 0


@pytest.mark.parametrize("split", ["train", "selection"])
async def test_an_empty_split_is_one_clear_line(tmp_path: Path, split: str) -> None:
    """Fault of a peer: with an empty selection split the verdict was measured on train."""
    world = small(tmp_path)
    world.tasks = TaskSet(tuple(task for task in world.tasks.tasks if task.split != split), Path("tasks.jsonl"))
    with pytest.raises(RunStopped, match=rf"tasks.jsonl: the {split} split is empty: .*\[tasks\] split"):
        await world.training().run()
    assert world.harness.runs == {}


async def test_without_test_tasks_nothing_is_claimed_about_them(tmp_path: Path) -> None:
    world = small(tmp_path)
    world.tasks = task_set(4, 4, 0)
    report = await world.training().run()
    assert (report.test.before, report.test.after) == (None, None)


async def test_a_baseline_with_too_few_valid_attempts_stops_the_run_and_says_which(tmp_path: Path) -> None:
    world = small(tmp_path)
    world.harness.failures = {"selection-01": [Outcome.OUT_OF_MEMORY] * 9}
    with pytest.raises(RunStopped, match=r"only 3 of 4 selection tasks could be measured: out_of_memory") as stopped:
        await world.training().run()
    assert "raise [sandbox] memory_mb" in str(stopped.value)
    assert max(world.harness.runs.values()) == world.train.attempt_tries, "attempted again only to say why"


async def test_a_run_that_was_stopped_goes_on_when_the_cause_is_mended(tmp_path: Path) -> None:
    world = small(tmp_path)
    world.observer = heard = Heard()

    def dead(request: ModelRequest) -> Exception:
        return ProviderError(ProviderFailure.AUTH, "fakeprovider: 401: check FAKE_KEY")

    world.client.reply = dead
    with pytest.raises(RunStopped, match="check FAKE_KEY"):
        await world.training().run()
    assert isinstance(heard.events[-1], RunEnded)
    assert heard.events[-1].state == "failed"
    runs = sum(world.harness.runs.values())
    world.client.reply = sensible
    report = await world.training().run()
    assert report.resumed
    assert all(count == 1 for count in world.harness.runs.values())
    assert sum(world.harness.runs.values()) > runs
    assert report.accepted >= 1


async def test_a_person_who_commits_meanwhile_is_never_overwritten(tmp_path: Path) -> None:
    world = small(tmp_path, epochs=3, seed=1)
    history = world.history
    assert isinstance(history, FakeSkillRepository)
    human = make_skill("A person's own line.")

    def interrupting(request: ModelRequest) -> dict[str, Any]:
        if not interrupting.done:  # type: ignore[attr-defined]
            interrupting.done = True  # type: ignore[attr-defined]
            history.human_commit(human.files, "Rewrite the skill")
        return sensible(request)

    interrupting.done = False  # type: ignore[attr-defined]
    world.client.reply = interrupting
    with pytest.raises(RunStopped, match="run `honed train` again"):
        await world.training().run()
    assert (await history.read(history.branch)).text == human.text
    report = await world.training().run()
    assert not report.resumed
    text = (await history.read(history.branch)).text
    assert "A person's own line." in text
    assert "rule-a" in text
    assert "rule-b" in text


async def test_hostile_edits_come_to_nothing(tmp_path: Path) -> None:
    hostile = [
        edit("", op="delete", target="---\nname: demo\ndescription: A skill for tests.\n---"),
        edit("x" * 50_000),
        edit("zero\u200bwidth"),
        edit("evil", op="replace", target="name: demo"),
    ]

    def reply(request: ModelRequest) -> dict[str, Any]:
        return reflection(*hostile) if request.schema_name.startswith("reflect") else sensible(request)

    world = small(tmp_path, batch=4, minibatch=4, edit_budget=4, min_edit_budget=4)
    world.client.reply = reply
    report = await world.training().run()
    assert (await world.history.read(await world.history.base())).text == make_skill().text
    assert report.steps[0].outcome == "no_change"
    assert {fate.fate for fate in report.edits} == {"skipped"}
    assert len(report.edits) == 4


async def test_a_skill_that_no_step_changed_has_one_score_before_and_after(tmp_path: Path) -> None:
    """Its pool has grown since the baseline: what chance made of the new trials is no change of the skill."""
    world = small(tmp_path, gate="paired", batch=4)
    world.harness.needs = {task_id: [] for task_id in world.harness.needs} | {"train-00": ["rule-a"]}
    world.client.reply = lambda request: (
        reflection(edit("- harm")) if request.schema_name == "reflect_failures" else sensible(request)
    )
    world.harness.breaks = {f"selection-0{i}": ["- harm"] for i in range(4)}
    plain = world.harness.run

    async def flaky(assignment: Assignment) -> Attempt:
        attempt = await plain(assignment)
        if assignment.task_id == "selection-00" and (assignment.seed or 0) < 6:
            return replace(attempt, trace=replace(attempt.trace, final_answer="no"))
        return attempt

    world.harness.run = flaky  # type: ignore[method-assign]
    report = await world.training().run()
    [step] = report.steps
    assert step.verdict is not None
    assert (step.outcome, step.verdict.base_pool.count) == ("rejected", 4)
    assert report.selection.before == report.selection.after
    assert report.selection.after is not None
    assert report.selection.after.score == pytest.approx(0.8125)


class Holding(Heard):
    """Hears, and says when the first attempt has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.first = asyncio.Event()

    def notify(self, event: Event) -> None:
        super().notify(event)
        if isinstance(event, AttemptFinished):
            self.first.set()


async def test_a_run_that_is_stopped_at_once_is_told_to_have_ended(tmp_path: Path) -> None:
    world = small(tmp_path)
    world.observer = heard = Holding()
    task = asyncio.create_task(world.training().run())
    await heard.first.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert heard.events[-1] == RunEnded(heard.events[0].run_id, "stopped", "stopped at once")  # type: ignore[union-attr]


@pytest.mark.parametrize("error", [JournalError("the journal cannot be written"), ValueError("a fault\nof ours")])
async def test_whatever_ends_a_run_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    world = small(tmp_path)
    world.observer = heard = Heard()

    async def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(world.journal, "end_run", fail)
    with pytest.raises(type(error)):
        await world.training().run()
    [ended] = [event for event in heard.events if isinstance(event, RunEnded)]
    assert (ended.state, ended.reason) == ("failed", " ".join(str(error).split()))
