"""One test for each fault of peers that budgets are about, named after it."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.budget.capped import CappedPurse
from daemon.budget.estimate import Estimate
from daemon.budget.plan import plan_run
from daemon.budget.purse import Purse, Spend
from daemon.budget.reached import BudgetReached
from daemon.budget.totals import Payer, PricedModel
from daemon.config import ConfigError
from daemon.config_train import BudgetSection, TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision
from daemon.optimizer.loop import Training
from daemon.readback.costs import by_phase
from daemon.rollouts.attempt import AttemptSettings
from daemon.rollouts.progress import RunEnded
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import Usage
from tests.support.budget import PRICE, Clock, Till
from tests.support.journal import a_run
from tests.support.optimizer import Heard, World, WorldHarness, no_wait, task_set, verify
from tests.support.readback import viewed

TRAIN = TrainSection(epochs=1, batch=4, minibatch=2, gate="strict", slow_update="off", meta_skill=False)


class Spending(World):
    """A world with a budget."""

    def process(self, **budget: object) -> Training:
        """A new process of the same run, with these caps."""
        models = {"target": PricedModel("fake-1", PRICE), "optimizer": PricedModel("optimizer-1", PRICE)}
        section = BudgetSection.model_validate(budget)
        purse = CappedPurse(section, self.journal, models)  # type: ignore[arg-type]
        rollouts = Rollouts(
            self.harness,
            verify,
            self.journal,
            attempts_folder=self.folder,
            workers=self.workers,
            settings=AttemptSettings(tries=3),
            sleep=no_wait,
            purse=purse,
        )
        return replace(self.training(), rollouts=rollouts, purse=purse)


def spending(folder: Path, *, workers: int = 4, chaos: int | None = None) -> Spending:
    tasks = task_set(8, 4, 3)
    rules = {task.id: [f"rule-{number % 3}"] for number, task in enumerate(tasks.tasks)}
    harness = WorldHarness(rules, chaos=None if chaos is None else random.Random(chaos))
    return Spending(folder, harness, tasks, train=TRAIN, workers=workers)


def test_gepa_375_a_budget_in_calls_that_buys_one_proposal() -> None:
    """The budget is told in steps before the run: nobody sets a cap that buys none of them without being told."""
    plan = plan_run(TRAIN, {"train": 400, "selection": 200, "test": 100})
    too_low = Estimate(plan, None, None, 4, BudgetSection.model_validate({"run": {"attempts": 150}}))
    [row] = too_low.buys
    assert row.words(plan.steps) == "[budget.run] attempts = 150 buys at least 0 of 100 steps"
    enough = Estimate(plan, None, None, 4, BudgetSection.model_validate({"run": {"attempts": 1_300}}))
    assert enough.buys[0].steps == 5


@pytest.mark.parametrize("chaos", [None, 1, 2, 3])
@pytest.mark.parametrize("cap", [2, 6, 9, 13])
async def test_gepa_409_448_a_budget_abort_discards_paid_evaluations(
    tmp_path: Path, cap: int, chaos: int | None
) -> None:
    """What had begun is finished and journaled, and the run goes on without paying for any of it again."""
    world = spending(tmp_path, chaos=chaos)
    with pytest.raises(BudgetReached, match=rf"attempts = {cap} is used up \({cap}\)"):
        await world.process(run={"attempts": cap}).run()
    assert sum(world.harness.runs.values()) == cap
    assert await world.journal.unfinished_attempts() == ()
    [run] = await world.journal.find_runs()
    assert run.state == "open"
    assert len(await world.journal.attempts(run.run_id)) == cap
    report = await world.process().run()
    assert report.resumed
    assert set(world.harness.runs.values()) == {1}, "no attempt was paid for twice"
    straight = spending(tmp_path)
    assert report.commits == (await straight.process().run()).commits


async def test_gepa_409_448_optimizer_replies_in_flight_are_kept_too(tmp_path: Path) -> None:
    world = spending(tmp_path)
    before_reflection = 4 * 15 + 4 * 15
    with pytest.raises(BudgetReached):
        await world.process(run={"tokens": before_reflection + 130}).run()
    [run] = await world.journal.find_runs()
    replies = await world.journal.replies(run.run_id)
    assert len(replies) == len(world.client.requests) > 0
    asked = len(world.client.requests)
    await world.process().run()
    prompts = [request.messages[0].content + request.system for request in world.client.requests]
    assert len(prompts) == len(set(prompts)) > asked, "no question was paid for twice"


@pytest.mark.parametrize("tokens", [200, 260, 340, 420])
async def test_gepa_409_448_reflections_that_run_beside_rollouts_are_finished(tmp_path: Path, tokens: int) -> None:
    """Every reply that was asked for is journaled, however the end of the budget falls among overlapping work."""
    world = spending(tmp_path, chaos=tokens)
    world.client.chaos = random.Random(tokens)
    with pytest.raises(BudgetReached):
        await world.process(run={"tokens": tokens}).run()
    [run] = await world.journal.find_runs()
    assert len(await world.journal.replies(run.run_id)) == len(world.client.requests)
    assert await world.journal.unfinished_attempts() == ()


async def test_a_step_that_is_used_up_ends_alone_and_the_run_goes_on(tmp_path: Path) -> None:
    world = spending(tmp_path)
    report = await world.process(step={"attempts": 4}).run()
    assert [step.outcome for step in report.steps] == ["budget", "budget"]
    assert "[budget.step] attempts = 4 is used up (4)" in report.steps[0].reason
    assert report.test.after is not None, "the run came to its end"
    [run] = await world.journal.find_runs()
    assert run.state == "done"


async def test_anthropics_1412_a_plan_that_is_burned_in_minutes(tmp_path: Path) -> None:
    """However many workers there are: a cap holds among them, and the estimate comes first."""
    world = spending(tmp_path, workers=24)
    world.observer = heard = Heard()
    with pytest.raises(BudgetReached, match=r"\[budget.run\] usd") as reached:
        await world.process(run={"usd": 1.5}).run()
    [run] = await world.journal.find_runs()
    spent = sum(record.usage["usd"] for record in await world.journal.attempts(run.run_id))
    assert 1.5 <= spent <= 1.5 + 0.25
    assert heard.events[-1] == RunEnded(run.run_id, "stopped", str(reached.value))
    estimate = Estimate(plan_run(TRAIN, world.tasks.sizes()), None, None, 24, BudgetSection())
    assert estimate.line().startswith("estimate: 2 steps, 15 to 26 attempts")


async def test_zero_token_counts_are_not_zero_cost() -> None:
    """Where a provider counts nothing, a cap on tokens is refused in words; it does not silently hold for ever."""
    till = Till()
    await till.start(run={"tokens": 10})
    for _ in range(3):
        await till.attempt(Usage(5, 0, 0, 0, 0.0))
    with pytest.raises(ConfigError, match="tells no token counts"):
        await till.attempt(Usage(5, 0, 0, 0, 0.0))
    assert len(await till.journal.attempts("r-1")) == 3


async def test_token_and_wall_totals_cover_only_the_last_process(tmp_path: Path) -> None:
    """Totals, caps and `honed show` count every process of a run."""
    world = spending(tmp_path)
    for cap in (3, 6, 10):
        with pytest.raises(BudgetReached, match=rf"attempts = {cap} is used up \({cap}\)"):
            await world.process(run={"attempts": cap}).run()
    report = await world.process().run()
    attempts = sum(world.harness.runs.values())
    assert report.attempts == attempts
    assert report.target_usage.tokens == attempts * 15
    assert report.optimizer_usage.requests == len(world.client.requests)
    view = await viewed(world)
    assert view.processes == 4
    assert sum(cost.attempts for cost in by_phase(view.costs)) == attempts


async def test_the_reports_wall_time_is_that_of_every_process(tmp_path: Path) -> None:
    world = spending(tmp_path)
    clock = Clock()
    world.journal = MemoryJournal(clock)
    with pytest.raises(BudgetReached):
        await world.process(run={"attempts": 3}).run()
    [run] = await world.journal.find_runs()
    clock.now += 500
    await world.journal.save_decision(Decision(run.run_id, 99, "late", {}))
    assert (await world.process().run()).wall_s >= 500


async def test_replies_of_a_step_that_the_budget_ended_are_in_the_report(tmp_path: Path) -> None:
    world = spending(tmp_path)
    report = await world.process(step={"tokens": 150}).run()
    assert "budget" in [step.outcome for step in report.steps]
    assert report.optimizer_usage.requests == len(world.client.requests) > 0


async def test_wall_time_of_every_process_counts() -> None:
    till = Till(Clock())
    for _ in range(3):
        await till.start(run={"minutes": 11})
        till.clock.now += 200
        await till.attempt()
        till.clock.now += 50_000
    await till.start(run={"minutes": 11})
    till.clock.now += 60
    with pytest.raises(BudgetReached, match=r"minutes = 11 is used up \(11\)"):
        till.purse.check()


async def test_retried_401s_are_paid_once_and_end_the_run(tmp_path: Path) -> None:
    """A refused key is no reason to try again: one attempt is made, not one for each retry and task."""
    world = spending(tmp_path, workers=1)
    world.harness.failures = {task.id: [Outcome.AUTH] * 9 for task in world.tasks.tasks}
    training = world.process(run={"attempts": 100})
    with pytest.raises(RunStopped, match="auth"):
        await training.run()
    [run] = await world.journal.find_runs()
    assert len(await world.journal.attempts(run.run_id)) == 1
    assert len(await world.journal.spent(run_id=run.run_id)) <= 2, "one more may have begun when it failed"


async def test_retries_of_what_may_pass_count_against_the_cap(tmp_path: Path) -> None:
    world = spending(tmp_path, workers=1)
    world.harness.failures = {"selection-00": [Outcome.SANDBOX_LOST] * 2}
    with pytest.raises(BudgetReached, match="attempts = 3"):
        await world.process(run={"attempts": 3}).run()
    assert sum(world.harness.runs.values()) == 3


async def test_no_cap_means_no_waiting_and_no_rows(tmp_path: Path) -> None:
    """A purse that is asked costs a run nothing: the same commits, no decision of its own."""
    world, other = spending(tmp_path), spending(tmp_path)
    report = await world.process().run()
    with_caps = await other.process(run={"attempts": 10_000, "tokens": 10**9, "usd": 10_000.0, "minutes": 10_000}).run()
    assert report.commits == with_caps.commits
    kinds = {decision.kind for decision in await other.journal.decisions(report.run_id)}
    assert "step_began" not in kinds


class Refusing:
    """A purse that refuses the n-th of everything."""

    def __init__(self, at: int) -> None:
        self._left = at

    async def begin_run(self, run_id: str) -> None:
        pass

    async def begin_step(self, step: int) -> None:
        pass

    def check(self) -> None:
        pass

    def settle(self, payer: Payer, usage: Usage) -> None:
        pass

    @asynccontextmanager
    async def spending(self, payer: Payer) -> AsyncIterator[Spend]:
        self._left -= 1
        if self._left < 0:
            raise BudgetReached("run", "attempts", 1, 1)
        yield Spend()


async def test_one_refusal_does_not_kill_the_batch(tmp_path: Path) -> None:
    """GEPA: one raising child kills the batch. Here what runs beside it comes to its end."""
    world = spending(tmp_path, workers=4, chaos=5)
    purse: Purse = Refusing(3)
    rollouts = Rollouts(
        world.harness, verify, world.journal, attempts_folder=tmp_path, workers=4, sleep=no_wait, purse=purse
    )
    await world.journal.open_run(a_run())
    with pytest.raises(BudgetReached):
        await rollouts.score(world.skill, world.tasks.split("train"), run_id="r-1")
    assert len(await world.journal.attempts("r-1")) == 3
    assert await world.journal.unfinished_attempts() == ()
