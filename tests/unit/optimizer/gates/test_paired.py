"""The paired gate: what it accepts, when it stops, what it asks for, and what it never lets through."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from daemon.optimizer.gates.paired import AGAIN, START, PairedGate
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.gates.verdict import Pool, Verdict
from tests.support.gates import GateWorld, ScriptedSelection, selection_tasks
from tests.support.optimizer import make_task

FULL = Pool(0, 6)
Scores = Mapping[str, Sequence[float | None] | float | None]


class Trial:
    """A split of ten tasks: four always pass, four never, two take turns."""

    def __init__(self, rule: GateRule | None = None, **fields: object) -> None:
        self.selection = ScriptedSelection(selection_tasks(10, **fields), rule)
        self.old: dict[str, Sequence[float | None] | float | None] = {
            **{f"t{i:02}": 1.0 for i in range(4)},
            **{f"t{i:02}": 0.0 for i in range(4, 8)},
            **{f"t{i:02}": [1.0, 0.0] * 20 for i in (8, 9)},
        }
        self.base = self.selection.version("the one that stands", self.old)

    async def judge(self, changes: Scores, pool: Pool = FULL, gate: PairedGate | None = None) -> Verdict:
        self.candidate = self.selection.version("new", {**self.old, **changes})
        return await (gate or PairedGate()).judge(self.base, self.candidate, self.selection, pool)

    def asked(self) -> list[tuple[int, str]]:
        """(trial, task) of the candidate."""
        return [(trial, task) for text, trial, task in self.selection.asked if text == self.candidate.text]


async def test_a_clear_gain_is_accepted_with_its_figures() -> None:
    trial = Trial()
    verdict = await trial.judge({"t04": 1.0, "t05": 1.0})
    assert verdict.ruling == "accepted"
    assert verdict.before == pytest.approx(0.5)
    assert verdict.after == pytest.approx(0.7)
    assert verdict.delta == pytest.approx(0.2)
    assert (verdict.n, verdict.of) == (10, 10)
    assert (verdict.fixed, verdict.broken) == (("t04", "t05"), ())
    assert verdict.evidence is not None
    assert verdict.evidence <= 0.05
    assert verdict.standard_error is not None
    assert 0 < verdict.standard_error < 0.2
    assert (verdict.before_trials, verdict.after_trials) == (6, AGAIN)
    assert verdict.current == verdict.after
    assert "hard 0.500 -> 0.700" in verdict.rule
    assert "p 0.0" in verdict.rule


async def test_no_lead_is_dropped_after_one_trial_and_the_sure_tasks_are_never_asked() -> None:
    trial = Trial()
    verdict = await trial.judge({"t08": 0.0, "t09": 0.0})
    assert verdict.ruling == "rejected"
    assert trial.asked() == [(0, f"t{i:02}") for i in range(4, 10)]
    assert (verdict.n, verdict.of) == (6, 6)
    assert (verdict.before_attempts, verdict.after_attempts) == (0, 6)
    assert [row.id for row in verdict.rows] == [f"t{i:02}" for i in range(4, 10)]
    assert "too little of a lead" in verdict.rule
    assert verdict.current == pytest.approx(0.5), "the score of the current skill is over the whole split"


async def test_a_gain_that_breaks_as_much_is_rejected() -> None:
    verdict = await Trial().judge({"t04": 1.0, "t05": 1.0, "t00": 0.0, "t01": 0.0})
    assert verdict.ruling == "rejected"
    assert verdict.delta == pytest.approx(0.0, abs=0.06)


async def test_a_leader_is_confirmed_with_fresh_trials_of_both_arms() -> None:
    trial = Trial()
    verdict = await trial.judge({"t04": 1.0, "t05": 1.0})
    base = {(t, task) for text, t, task in trial.selection.asked if text == trial.base.text}
    fresh = {(t, task) for t, task in base if t >= FULL.count}
    assert fresh, "the current skill got fresh trials too"
    assert {task for _, task in fresh} <= {"t04", "t05", "t08", "t09"}, "only where they may tell"
    assert verdict.before_attempts == len(fresh)
    assert {t for t, _ in trial.asked()} >= {0, 1}


async def test_nothing_is_accepted_at_first_sight() -> None:
    verdict = await Trial().judge({f"t{i:02}": 1.0 for i in range(4, 10)})
    assert verdict.ruling == "accepted"
    assert verdict.looks[0].trials == 1
    assert "going on" in verdict.looks[0].reason
    assert verdict.looks[1].trials == 2


async def test_a_lucky_first_trial_is_not_enough() -> None:
    verdict = await Trial().judge({"t04": [1.0, 0.0], "t05": [1.0, 0.0]})
    assert verdict.ruling == "rejected"


async def test_the_trials_that_decided_are_not_those_that_it_is_said_to_score() -> None:
    """Lucky in both deciding trials, never after: the luck is not in its score, and it does not hold."""
    lucky = [1.0, 1.0, 0.0]
    verdict = await Trial().judge({"t04": lucky, "t05": lucky, "t06": lucky})
    assert verdict.ruling == "rejected"
    assert "not so in 2 more trials" in verdict.rule
    assert verdict.after == pytest.approx(0.5, abs=0.11)


async def test_an_accepted_candidate_stands_on_fresh_trials_alone() -> None:
    verdict = await Trial().judge({"t04": 1.0, "t05": 1.0, "t06": 1.0})
    rounds = verdict.looks[-1].trials
    assert verdict.candidate_pool == Pool(rounds, AGAIN)
    assert verdict.candidate_pool.first >= 2


async def test_the_estimate_of_the_current_skill_grows_by_schedule_whatever_comes_out() -> None:
    gate = PairedGate()
    pools = []
    for changes in ({"t08": 0.0, "t09": 0.0}, {"t04": 1.0, "t05": 1.0}):
        pool = Pool(0, START)
        sizes = []
        for _ in range(5):
            verdict = await Trial().judge(changes, pool)
            pool = verdict.base_pool
            sizes.append((pool.first, pool.count))
        pools.append(sizes)
    assert pools[0] == pools[1] == [(0, 4), (0, 5), (0, 6), (0, 6), (0, 6)]
    assert gate.most_pooled == 6


async def test_fresh_trials_are_fresh_again_next_time() -> None:
    first = await Trial().judge({"t04": [1.0, 1.0, 0.0], "t05": [1.0, 0.0], "t06": [1.0, 0.0]})
    assert first.base_pool.asked > 6
    trial = Trial()
    await trial.judge({"t04": 1.0, "t05": 1.0}, first.base_pool)
    beyond = {t for text, t, _ in trial.selection.asked if text == trial.base.text and t >= 6}
    assert min(beyond) == first.base_pool.asked


async def test_a_pool_of_nothing_starts_with_a_few_trials_that_accepted_nobody() -> None:
    """The winner's curse from run to run: what a candidate was accepted by is no measure of it later."""
    gate = PairedGate(trials=3)
    trial = Trial()
    verdict = await trial.judge({"t08": 0.0}, Pool())
    assert verdict.base_pool.trials == range(3, 3 + START)
    fresh = verdict.before_attempts - START * 10
    assert 0 <= fresh < 10, "and one fresh trial at most of the tasks that are not all alike"
    _, pool = await gate.measure(trial.base, trial.selection)
    assert pool == Pool(3, START)


async def test_protected_tasks_may_never_break() -> None:
    trial = Trial()
    tasks = [make_task(f"t{i:02}", "selection", protect=i in (0, 8)) for i in range(10)]
    trial.selection.tasks = tuple(tasks)
    gains: dict[str, Sequence[float | None] | float | None] = {f"t{i:02}": 1.0 for i in (4, 5, 6, 7)}
    held = await trial.judge(gains)
    assert held.ruling == "accepted"
    once = await trial.judge({**gains, "t00": [1.0, 0.0, 1.0]})
    assert once.ruling == "rejected"
    assert "protected task t00" in once.rule
    never = await trial.judge({**gains, "t08": 0.0})
    assert never.ruling == "rejected"
    assert "protected task t08" in never.rule


async def test_a_protected_task_that_breaks_at_the_very_end_rejects_too() -> None:
    trial = Trial()
    trial.selection.tasks = tuple(make_task(f"t{i:02}", "selection", protect=i == 0) for i in range(10))
    gains: dict[str, Sequence[float | None] | float | None] = {f"t{i:02}": 1.0 for i in (4, 5, 6, 7)}
    verdict = await trial.judge({**gains, "t00": [1.0, 1.0, 1.0, 0.0]})
    assert verdict.ruling == "rejected"
    assert "protected task t00" in verdict.rule


async def test_weights_count() -> None:
    trial = Trial()
    trial.selection.tasks = tuple(make_task(f"t{i:02}", "selection", weight=10.0 if i == 4 else 1.0) for i in range(10))
    verdict = await trial.judge({"t04": 1.0})
    assert verdict.ruling == "accepted"
    assert verdict.delta == pytest.approx(10 / 19)


async def test_invalid_trials_are_left_out_task_by_task() -> None:
    verdict = await Trial().judge({"t04": [1.0, None, 1.0, 1.0], "t05": 1.0, "t06": 1.0, "t07": [None] * 5})
    assert verdict.ruling == "accepted"
    assert verdict.n == 9
    rows = {row.id: row for row in verdict.rows}
    assert (rows["t07"].after, rows["t07"].after_trials) == (None, 0)
    assert rows["t04"].after == 1.0
    assert rows["t04"].after_trials < rows["t05"].after_trials


async def test_too_little_valid_coverage_decides_nothing() -> None:
    lost = {f"t{i:02}": [None] * 20 for i in range(3)}
    verdict = await Trial().judge({**lost, "t04": 1.0, "t05": 1.0, "t06": 1.0})
    assert verdict.ruling == "indecisive"
    assert "only 7 of 10 tasks are valid under both skills, 8 are needed" in verdict.rule
    assert verdict.base_pool.count == 6


async def test_a_current_skill_that_cannot_be_measured_decides_nothing_and_costs_the_candidate_nothing() -> None:
    trial = Trial()
    trial.old.update({f"t{i:02}": [None] * 20 for i in range(5)})
    trial.base = trial.selection.version("the one that stands", trial.old)
    verdict = await trial.judge({"t06": 1.0})
    assert (verdict.ruling, verdict.after_attempts) == ("indecisive", 0)


async def test_a_tie_in_everything_is_rejected_unless_the_skill_is_shorter() -> None:
    tied = {"t08": 0.0, "t09": 0.0}
    for shorter, ruling in ((False, "rejected"), (True, "accepted")):
        trial = Trial()
        trial.old.update(tied)
        trial.base = trial.selection.version("the one that stands", trial.old)
        verdict = await trial.judge({}, gate=PairedGate(shorter_wins=shorter))
        assert verdict.ruling == ruling
        assert "a tie" in verdict.rule
        assert verdict.delta in (0, None)


async def test_shorter_does_not_help_where_anything_differs() -> None:
    verdict = await Trial().judge({"t08": [0.0, 1.0] * 10}, gate=PairedGate(shorter_wins=True))
    assert verdict.ruling == "rejected"


async def test_nothing_can_beat_a_skill_that_always_passes_and_nothing_is_asked() -> None:
    trial = Trial()
    trial.old.update({f"t{i:02}": 1.0 for i in range(10)})
    trial.base = trial.selection.version("the one that stands", trial.old)
    verdict = await trial.judge({})
    assert (verdict.ruling, verdict.after_attempts) == ("rejected", 0)


async def test_partial_scores_are_judged_by_their_means() -> None:
    trial = Trial(GateRule("soft"))
    trial.old.update({f"t{i:02}": [0.4, 0.5, 0.45] * 9 for i in range(10)})
    trial.base = trial.selection.version("the one that stands", trial.old)
    better = {f"t{i:02}": [0.6, 0.55, 0.65] * 9 for i in range(5)}
    assert (await trial.judge(better)).ruling == "accepted"
    assert (await trial.judge({f"t{i:02}": [0.5, 0.4, 0.45] * 9 for i in range(5)})).ruling == "rejected"


@pytest.mark.parametrize("trials", [1, 2, 3, 5])
async def test_the_error_is_shared_out_over_the_looks(trials: int) -> None:
    gate = PairedGate(trials=trials, error=0.04)
    assert sum(gate.bars()) == pytest.approx(0.04)
    assert len(gate.bars()) == trials
    assert (gate.bars()[0] == 0) is (trials > 1)
    verdict = await Trial().judge({f"t{i:02}": 1.0 for i in range(4, 8)}, gate=gate)
    assert verdict.ruling == "accepted"
    assert verdict.candidate_pool.first <= trials


async def test_a_verdict_survives_the_journal() -> None:
    adapter = TypeAdapter(Verdict)
    for changes in ({"t04": 1.0, "t05": 1.0}, {"t08": 0.0}):
        verdict = await Trial().judge(changes)
        assert adapter.validate_json(adapter.dump_json(verdict)) == verdict


async def test_the_same_judgement_again_is_the_same_verdict() -> None:
    assert await Trial().judge({"t04": 1.0, "t05": 1.0}) == await Trial().judge({"t04": 1.0, "t05": 1.0})


@pytest.mark.parametrize("seed", range(4))
async def test_the_verdict_is_the_same_with_any_number_of_workers(tmp_path: Path, seed: int) -> None:
    rates = [1.0] * 5 + [0.0] * 5 + [0.5] * 6
    better = [1.0] * 5 + [0.6] * 3 + [0.0] * 2 + [0.6] * 6
    verdicts = []
    for workers, chaos in ((1, None), (4, random.Random(seed)), (24, random.Random(seed + 99))):
        world = GateWorld(tmp_path, rates, seed=seed, workers=workers, chaos=chaos, invalid=0.03)
        selection = await world.selection()
        candidate = world.version(better, "candidate")
        verdicts.append(await PairedGate().judge(world.skill, candidate, selection, Pool(0, 3)))
    assert verdicts[0] == verdicts[1] == verdicts[2]


async def test_the_figures_of_a_run_s_end_are_in_pairs_over_the_pools() -> None:
    trial = Trial()
    candidate = trial.selection.version("new", {**trial.old, "t04": 1.0, "t05": [None] * 9})
    before, after = await PairedGate().report((trial.base, FULL), (candidate, Pool(3, 2)), trial.selection)
    assert (before.n, before.of, after.n, after.of) == (9, 10, 9, 10)
    assert before.score == pytest.approx(5 / 9)
    assert after.score == pytest.approx(6 / 9)
