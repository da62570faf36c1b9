"""What a split can see, and how much the same skill differs from itself."""

from __future__ import annotations

import pytest

from daemon.config_train import TrainSection
from daemon.optimizer.gates.gate import NoGate
from daemon.optimizer.gates.paired import PairedGate
from daemon.optimizer.gates.power import flip_rate, noise_of_mean, smallest_effect, tasks_for, within_variance
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.gates.simulate import Resampled, false_accepts
from daemon.optimizer.gates.strict import StrictGate
from daemon.optimizer.gates.verdict import Pool
from tests.support.optimizer import make_result, make_skill

TRAIN = TrainSection(gate="paired", gate_trials=3, gate_pool=6, gate_error=0.05)


def test_more_tasks_trials_and_error_see_more() -> None:
    at_24 = smallest_effect(24, TRAIN)
    assert 0.08 < at_24 < 0.11, "ten points on 24 tasks are about what four of five cases show"
    assert smallest_effect(50, TRAIN) < at_24
    assert smallest_effect(24, TRAIN.model_copy(update={"gate_trials": 6})) < at_24
    assert smallest_effect(24, TRAIN.model_copy(update={"gate_error": 0.2})) < at_24
    assert smallest_effect(24, TRAIN, variance=0.2) > at_24


def test_less_than_one_task_cannot_be_seen() -> None:
    assert smallest_effect(10, TRAIN, variance=0.0) == pytest.approx(0.1)
    assert smallest_effect(1, TRAIN) == 1.0
    assert smallest_effect(0, TRAIN) == 1.0


@pytest.mark.parametrize("effect", [0.05, 0.1, 0.2])
def test_the_number_of_tasks_is_the_other_way_round(effect: float) -> None:
    n = tasks_for(effect, TRAIN)
    assert smallest_effect(n, TRAIN) <= effect + 1e-9
    assert smallest_effect(n - 1, TRAIN) > effect


def test_flips_are_pairs_of_unlike_trials() -> None:
    assert flip_rate([1, 1, 1]) == 0
    assert flip_rate([1, 0]) == 1
    assert flip_rate([1, 1, 0, 0]) == pytest.approx(2 / 3)
    assert flip_rate([1]) is None
    assert flip_rate([]) is None


def test_noise_is_within_tasks_alone() -> None:
    assert within_variance([[1, 1], [0, 0], [1, 0]]) == pytest.approx(0.5 / 3)
    assert within_variance([[1], []]) is None
    assert noise_of_mean([[1, 1], [1, 0]], [1, 1]) == pytest.approx(0.5**0.5 / 2)
    assert noise_of_mean([[1, 1], [1, 0]], [3, 1]) == pytest.approx(0.5**0.5 / 4)
    assert noise_of_mean([[1]], [1]) is None


async def test_a_made_up_split_draws_from_what_was_seen() -> None:
    seen = {"t1": [make_result("t1", 1.0), make_result("t1", 0.0)], "t0": [make_result("t0", 0.5)], "t2": []}
    selection = Resampled(seen, GateRule(), 7)
    assert [task.id for task in selection.tasks] == ["t0", "t1"]
    skill = make_skill()
    drawn = [[result.score for result in await selection.results(skill, trial)] for trial in range(40)]
    assert {row[0] for row in drawn} == {0.5}
    assert {row[1] for row in drawn} == {0.0, 1.0}
    assert drawn[3] == [result.score for result in await Resampled(seen, GateRule(), 7).results(skill, 3)]
    streamed = [result.score async for result in selection.stream(skill, 3, selection.tasks)]
    assert streamed == drawn[3]


async def test_how_often_a_no_op_gets_through() -> None:
    flaky = {f"t{i}": [make_result(f"t{i}", 1.0), make_result(f"t{i}", 0.0)] for i in range(8)}
    calm = {f"t{i}": [make_result(f"t{i}", 1.0)] for i in range(8)}
    rule = GateRule()
    strict = await false_accepts(StrictGate(), flaky, rule, pool=Pool(0, 1), runs=60)
    paired = await false_accepts(PairedGate(), flaky, rule, pool=Pool(0, 6), runs=60)
    assert strict > 0.25
    assert paired <= 0.06
    assert await false_accepts(StrictGate(), calm, rule, pool=Pool(0, 1), runs=5) == 0
    assert await false_accepts(NoGate(), calm, rule, pool=Pool(0, 1), runs=5) == 1
