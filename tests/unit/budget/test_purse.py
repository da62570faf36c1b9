"""Caps are asked before anything is paid, over restarts, scopes and workers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from daemon.budget.capped import MostOfOne
from daemon.budget.purse import OpenPurse
from daemon.budget.reached import BudgetReached
from daemon.config import ConfigError
from daemon.journal.memory import MemoryJournal
from sandboxes.gateway.policy import Usage
from tests.support.budget import NOON, Till, used, without_price
from tests.support.journal import a_run


@pytest.fixture
def till() -> Till:
    return Till()


@pytest.mark.parametrize(
    ("caps", "fit", "words"),
    [
        ({"attempts": 3}, 3, r"\[budget.run\] attempts = 3 is used up \(3\)"),
        ({"tokens": 250}, 3, r"\[budget.run\] tokens = 250 is used up \(300\)"),
        ({"tokens": 200}, 2, r"\[budget.run\] tokens = 200 is used up \(200\)"),
        ({"usd": 0.15}, 2, r"\[budget.run\] usd = 0.15 is used up \(0.20\)"),
        ({"attempts": 2, "tokens": 10_000_000}, 2, r"\[budget.run\] attempts = 2"),
    ],
)
async def test_a_cap_is_checked_before_the_next_attempt(till: Till, caps: dict[str, Any], fit: int, words: str) -> None:
    await till.start(run=caps)
    for _ in range(fit):
        await till.attempt()
    with pytest.raises(BudgetReached, match=words) as reached:
        await till.attempt()
    assert reached.value.scope == "run"
    assert "raise it in honed.toml, then `honed train` goes on" in str(reached.value)
    assert await till.journal.unfinished_attempts() == (), "what may not be paid is not even planned"
    assert len(await till.journal.attempts("r-1")) == fit


async def test_thousands_are_readable(till: Till) -> None:
    await till.start(run={"tokens": 2_000_000})
    await till.attempt(used(2_013_442))
    with pytest.raises(BudgetReached, match=r"tokens = 2,000,000 is used up \(2,013,442\)"):
        till.purse.check()


def test_a_small_cap_is_said_as_it_was_written() -> None:
    assert "usd = 0.0025 is used up (0.003)" in str(BudgetReached("run", "usd", 0.0025, 0.003))
    assert "minutes = 0.01 is used up (0.02)" in str(BudgetReached("run", "minutes", 0.01, 0.02))
    assert "usd = 5.00 is used up (0.00)" in str(BudgetReached("run", "usd", 5, 0))


async def test_wall_time_is_capped_and_what_runs_is_finished(till: Till) -> None:
    await till.start(run={"minutes": 2})
    opened = asyncio.Event()
    running = asyncio.create_task(till.attempt(gate=opened))
    await asyncio.sleep(0)
    till.clock.now += 121
    with pytest.raises(BudgetReached, match=r"\[budget.run\] minutes = 2 is used up \(2\)"):
        await till.attempt()
    opened.set()
    assert (await running).score == 0.25


async def test_the_optimizer_spends_tokens_and_money_but_makes_no_attempts(till: Till) -> None:
    await till.start(run={"tokens": 250, "attempts": 1})
    await till.reply()
    await till.reply()
    await till.attempt()
    with pytest.raises(BudgetReached, match="attempts = 1"):
        await till.reply()
    await till.start("r-2", run={"tokens": 150})
    await till.reply(run_id="r-2")
    await till.reply(run_id="r-2")
    with pytest.raises(BudgetReached, match="tokens = 150"):
        await till.reply(run_id="r-2")


async def test_a_run_counts_what_it_spent_before_a_restart(till: Till) -> None:
    await till.start(run={"attempts": 3, "tokens": 1_000})
    await till.attempt()
    await till.reply()
    till.clock.now += 86_400 * 3
    await till.start(run={"tokens": 250})
    await till.attempt()
    with pytest.raises(BudgetReached, match=r"tokens = 250 is used up \(300\)"):
        await till.attempt()
    await till.start("r-2", run={"tokens": 250})
    till.purse.check()


async def test_the_wall_time_of_earlier_processes_counts_and_the_time_between_them_does_not(till: Till) -> None:
    await till.start()
    till.clock.now += 50
    await till.attempt()
    till.clock.now += 10_000
    await till.start(run={"minutes": 1})
    till.clock.now += 9
    till.purse.check()
    till.clock.now += 1
    with pytest.raises(BudgetReached, match=r"minutes = 1 is used up"):
        till.purse.check()


async def test_a_clock_that_is_turned_back_spends_nothing(till: Till) -> None:
    await till.start(run={"minutes": 1})
    till.clock.now -= 5_000
    till.purse.check()


async def test_a_day_counts_all_runs_of_the_state_folder_and_both_payers(till: Till) -> None:
    await till.start("r-1")
    await till.attempt()
    await till.reply()
    await till.start("r-2", day={"tokens": 300})
    await till.attempt(run_id="r-2")
    with pytest.raises(BudgetReached, match=r"\[budget.day\] tokens = 300 is used up \(300\).*tomorrow \(UTC\)"):
        await till.attempt(run_id="r-2")


async def test_a_day_ends_at_midnight_utc_for_a_process_that_goes_on(till: Till) -> None:
    await till.start(day={"attempts": 2, "minutes": 800})
    opened = asyncio.Event()
    await till.attempt()
    running = asyncio.create_task(till.attempt(gate=opened))
    await asyncio.sleep(0)
    with pytest.raises(BudgetReached, match="attempts = 2"):
        await till.attempt()
    till.clock.now = NOON + 43_200
    await till.attempt()
    with pytest.raises(BudgetReached, match=r"attempts = 2 is used up \(2\)"):
        await till.attempt()
    opened.set()
    await running
    till.clock.now += 799 * 60
    await till.start(day={"attempts": 3, "minutes": 800})
    till.purse.check()


async def test_a_clock_turned_back_over_midnight_buys_no_second_day(till: Till) -> None:
    till.clock.now = NOON + 43_200 + 5
    await till.start(day={"attempts": 1})
    await till.attempt()
    for seconds in (-10.0, 20.0, -100_000.0):
        till.clock.now += seconds
        with pytest.raises(BudgetReached, match="attempts = 1"):
            till.purse.check()


async def test_what_was_spent_yesterday_is_not_todays(till: Till) -> None:
    till.clock.now -= 86_400
    await till.start()
    await till.attempt()
    till.clock.now += 86_400
    await till.start(day={"attempts": 1})
    await till.attempt()
    with pytest.raises(BudgetReached, match=r"\[budget.day\] attempts = 1"):
        till.purse.check()


async def test_time_before_midnight_is_not_todays(till: Till) -> None:
    till.clock.now = NOON + 43_200 - 600
    await till.start()
    till.clock.now += 600 + 120
    await till.attempt()
    await till.start(day={"minutes": 3})
    till.purse.check()
    till.clock.now += 60
    with pytest.raises(BudgetReached, match=r"\[budget.day\] minutes = 3 is used up \(3\)"):
        till.purse.check()


async def test_a_step_begins_anew_and_ends_alone(till: Till) -> None:
    purse = await till.start(step={"attempts": 2})
    await purse.begin_step(1)
    await till.attempt()
    await till.attempt()
    with pytest.raises(BudgetReached, match=r"\[budget.step\] attempts = 2") as reached:
        await till.attempt()
    assert reached.value.scope == "step"
    await purse.begin_step(2)
    await till.attempt()
    await purse.begin_step(0)
    for _ in range(3):
        await till.attempt()


async def test_a_step_counts_what_it_spent_before_a_kill_and_nothing_from_before_it(till: Till) -> None:
    purse = await till.start(step={"attempts": 3, "tokens": 10_000, "minutes": 1})
    await till.attempt()
    await purse.begin_step(1)
    await till.attempt()
    till.clock.now += 40
    await till.attempt()
    purse = await till.start(step={"attempts": 3, "minutes": 1})
    await purse.begin_step(1)
    till.clock.now += 19
    await till.attempt()
    with pytest.raises(BudgetReached, match=r"\[budget.step\] attempts = 3"):
        purse.check()
    purse = await till.start(step={"minutes": 1})
    await purse.begin_step(1)
    till.clock.now += 2
    with pytest.raises(BudgetReached, match=r"\[budget.step\] minutes = 1"):
        purse.check()


async def test_a_step_without_caps_writes_nothing(till: Till) -> None:
    purse = await till.start(run={"attempts": 9})
    await purse.begin_step(1)
    assert await till.journal.decisions("r-1") == ()


async def test_an_attempt_that_was_cut_off_counts_as_an_attempt(till: Till) -> None:
    await till.start(run={"attempts": 2})
    gate = asyncio.Event()
    task = asyncio.create_task(till.attempt(gate=gate))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await till.journal.abandon_attempts(await till.journal.unfinished_attempts())
    await till.start(run={"attempts": 2})
    await till.attempt()
    with pytest.raises(BudgetReached, match=r"attempts = 2"):
        await till.attempt()


async def test_money_that_was_unknown_is_priced_once_the_price_is_known(till: Till) -> None:
    await till.start()
    await till.attempt(without_price(used(500_000)))
    await till.start(run={"usd": 0.4})
    with pytest.raises(BudgetReached, match=r"usd = 0.40 is used up \(0.50\)"):
        till.purse.check()


async def test_money_that_stays_unknown_is_never_zero(till: Till) -> None:
    till.models = {}
    await till.start()
    await till.attempt(without_price(used(500_000)))
    await till.start(run={"usd": 0.4})
    with pytest.raises(ConfigError, match=r"\[budget.run\] usd cannot be kept.*no known price"):
        till.purse.check()
    await till.start(run={"tokens": 1_000_000})
    till.purse.check()


async def test_a_provider_that_counts_no_tokens_keeps_no_token_cap(till: Till) -> None:
    await till.start(run={"tokens": 1_000, "attempts": 100})
    for _ in range(3):
        await till.attempt(Usage(2, 0, 0, 0, 0.0))
    with pytest.raises(ConfigError, match=r"\[target\] tells no token counts"):
        await till.attempt()
    await till.start(run={"attempts": 100})
    till.purse.check()


async def test_an_open_purse_lets_all_through_and_says_who_works() -> None:
    journal = MemoryJournal()
    await journal.open_run(a_run())
    purse = OpenPurse(journal)
    await purse.begin_run("r-1")
    await purse.begin_step(1)
    for _ in range(3):
        purse.check()
        async with purse.spending("target") as spend:
            spend.usage = used(10**9, None)
    assert [span.run_id for span in await journal.spans()] == ["r-1"]


class Workers:
    """`n` attempts at once, each let go by hand."""

    def __init__(self, till: Till) -> None:
        self.till = till
        self.gates: list[asyncio.Event] = []
        self.tasks: list[asyncio.Task[Any]] = []

    async def begin(self, usage: Usage) -> None:
        """One more, as far as it comes."""
        self.gates.append(asyncio.Event())
        self.tasks.append(asyncio.create_task(self.till.attempt(usage, gate=self.gates[-1])))
        for _ in range(5):
            await asyncio.sleep(0)

    @property
    async def running(self) -> int:
        return len(await self.till.journal.unfinished_attempts())

    async def let_go(self) -> list[Any]:
        """All of them to their ends."""
        for gate in self.gates:
            gate.set()
        return await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_workers_cannot_overshoot_by_what_all_of_them_use(till: Till) -> None:
    """Of 24 that want to begin at once only as many do as what is left is worth on average."""
    await till.start(run={"tokens": 1_000})
    for tokens in (50, 150, 100, 100, 50, 150):
        await till.attempt(used(tokens))
    workers = Workers(till)
    for _ in range(24):
        await workers.begin(used(100))
    assert await workers.running == 4, "600 used, 400 left, 100 held for each"
    ended = await workers.let_go()
    assert sum(isinstance(end, BudgetReached) for end in ended) == 20
    assert till.purse._begun().spent.tokens == 1_000


async def test_the_overshoot_is_the_last_one_begun_and_what_others_use_over_their_average(till: Till) -> None:
    await till.start(run={"tokens": 1_000})
    await till.attempt(used(400))
    workers = Workers(till)
    for tokens in (500, 700, 900):
        await workers.begin(used(tokens))
    assert await workers.running == 2, "400 used and 400 held leave room for one more, 800 held leave none"
    ended = await workers.let_go()
    assert isinstance(ended[2], BudgetReached)
    spent = till.purse._begun().spent.tokens
    assert spent == 1_600
    assert spent - 1_000 <= 700 + (500 - 400)


async def test_before_anything_has_ended_an_attempts_own_cap_is_held(till: Till) -> None:
    till.most = {"target": MostOfOne(tokens=600)}
    await till.start(run={"tokens": 1_000})
    workers = Workers(till)
    for _ in range(5):
        await workers.begin(used(100))
    assert await workers.running == 2
    ended = await workers.let_go()
    assert [type(end).__name__ for end in ended] == ["AttemptRecord"] * 5, "with room left again the others go on"


async def test_without_any_bound_the_first_goes_alone(till: Till) -> None:
    await till.start(run={"usd": 1.0})
    workers = Workers(till)
    for _ in range(3):
        await workers.begin(used(100, 0.2))
    assert await workers.running == 1
    workers.gates[0].set()
    await workers.tasks[0]
    for _ in range(5):
        await asyncio.sleep(0)
    assert await workers.running == 2
    await workers.let_go()


async def test_attempts_are_never_overshot_whatever_is_in_flight(till: Till) -> None:
    await till.start(run={"attempts": 5})
    workers = Workers(till)
    for _ in range(24):
        await workers.begin(used(10))
    assert await workers.running == 5
    await workers.let_go()
    assert len(await till.journal.attempts("r-1")) == 5


async def test_one_that_waits_may_be_cancelled(till: Till) -> None:
    await till.start(run={"tokens": 1_000})
    workers = Workers(till)
    for _ in range(3):
        await workers.begin(used(10))
    workers.tasks[1].cancel()
    ended = await workers.let_go()
    assert isinstance(ended[1], asyncio.CancelledError)
    assert len(await till.journal.attempts("r-1")) == 2
