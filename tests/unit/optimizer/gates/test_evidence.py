"""The exact test: against brute force over every deal, at its level, and blind to what must not matter."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from daemon.optimizer.gates.evidence import Sample, p_value, p_words, standard_error


def weigh(before: tuple[float, ...], after: tuple[float, ...]) -> float:
    """The signed power of the log likelihood ratio, from its definition."""

    def fit(values: tuple[float, ...], rate: float) -> float:
        passed, of = math.fsum(values), len(values)
        terms = ((passed, rate), (of - passed, 1 - rate))
        return math.fsum(part * math.log(share) for part, share in terms if part > 1e-12)

    rates = [math.fsum(side) / len(side) for side in (before, after, (*before, *after))]
    gain = fit(before, rates[0]) + fit(after, rates[1]) - fit((*before, *after), rates[2])
    return math.copysign(max(0.0, gain) ** 0.75, rates[1] - rates[0])


def brute(samples: list[Sample]) -> float:
    """The mid-p over every deal of every task's values."""
    laws = []
    for sample in samples:
        values = (*sample.before, *sample.after)
        deals = []
        for chosen in itertools.combinations(range(len(values)), len(sample.after)):
            after = tuple(values[i] for i in chosen)
            before = tuple(values[i] for i in range(len(values)) if i not in chosen)
            deals.append(sample.weight * weigh(before, after))
        laws.append(deals)
    seen = math.fsum(sample.weight * weigh(sample.before, sample.after) for sample in samples)
    sums = [math.fsum(parts) for parts in itertools.product(*laws)]
    more = sum(value > seen + 1e-6 for value in sums)
    same = sum(abs(value - seen) <= 1e-6 for value in sums)
    return (more + same / 2) / len(sums)


def hard(seed: int, tasks: int, n_before: int, n_after: int) -> list[Sample]:
    chance = random.Random(seed)

    def draws(n: int) -> tuple[float, ...]:
        return tuple(float(chance.random() < 0.5) for _ in range(n))

    return [Sample(1.0, draws(n_before), draws(n_after)) for _ in range(tasks)]


@pytest.mark.parametrize("seed", range(30))
def test_it_is_the_share_of_deals_that_lead_as_much(seed: int) -> None:
    samples = hard(seed, tasks=3, n_before=3 + seed % 3, n_after=1 + seed % 3)
    assert p_value(samples) == pytest.approx(brute(samples), abs=0.005)  # near sums may share a cell of the grid


@pytest.mark.parametrize("seed", range(10))
def test_partial_scores_and_weights_are_dealt_the_same_way(seed: int) -> None:
    chance = random.Random(seed)
    samples = [
        Sample(
            chance.choice([0.5, 1.0, 2.0]),
            tuple(chance.choice([0.0, 0.25, 0.5, 1.0]) for _ in range(4)),
            tuple(chance.choice([0.0, 0.25, 0.5, 1.0]) for _ in range(2)),
        )
        for _ in range(3)
    ]
    assert p_value(samples) == pytest.approx(brute(samples), abs=0.02)  # sums count in cells of the grid


def test_tasks_whose_trials_are_all_alike_say_nothing() -> None:
    telling = hard(1, tasks=3, n_before=4, n_after=2)
    alike = [Sample(1.0, (1.0,) * 6, (1.0,) * 3), Sample(9.0, (0.0,) * 6, (0.0,) * 3), Sample(1.0, (0.4,), (0.4,))]
    assert p_value([*alike, *telling]) == p_value(telling)
    assert p_value(alike) == 0.5
    assert p_value([]) == 0.5


def test_a_task_without_weight_says_nothing() -> None:
    telling = hard(2, tasks=3, n_before=4, n_after=2)
    assert p_value([*telling, Sample(0.0, (0.0,) * 6, (1.0,) * 3)]) == p_value(telling)


def test_the_order_of_tasks_and_trials_does_not_matter() -> None:
    samples = hard(3, tasks=6, n_before=6, n_after=3)
    shuffled = [Sample(s.weight, s.before[::-1], s.after[::-1]) for s in samples[::-1]]
    assert p_value(shuffled) == pytest.approx(p_value(samples), abs=1e-12)


def test_the_arms_changed_over_give_the_rest() -> None:
    samples = hard(4, tasks=5, n_before=3, n_after=3)
    turned = [Sample(s.weight, s.after, s.before) for s in samples]
    assert p_value(samples) + p_value(turned) == pytest.approx(1.0, abs=1e-9)


def test_fails_and_passes_changed_over_give_the_rest() -> None:
    samples = hard(5, tasks=5, n_before=6, n_after=3)
    flipped = [Sample(s.weight, tuple(1 - v for v in s.before), tuple(1 - v for v in s.after)) for s in samples]
    assert p_value(samples) + p_value(flipped) == pytest.approx(1.0, abs=1e-9)


def test_what_chance_hardly_makes_weighs_more_than_what_it_often_makes() -> None:
    """Two thirds gained on a task that never passed, or on one that passed now and then."""
    never = [Sample(1.0, (0.0,) * 6, (1.0, 1.0, 0.0))]
    flaky = [Sample(1.0, (1.0, 0.0, 1.0, 0.0, 1.0, 0.0), (1.0, 1.0, 1.0))]
    assert p_value(never) < p_value(flaky)


@pytest.mark.parametrize(("n_before", "n_after"), [(6, 1), (6, 3), (3, 2)])
def test_it_holds_its_level_where_nothing_changed(n_before: int, n_after: int) -> None:
    chance = random.Random(7)
    rates = [1.0] * 8 + [0.0] * 6 + [0.1, 0.3, 0.5, 0.5, 0.7, 0.9]
    hits = 0
    for _ in range(600):
        samples = [
            Sample(1.0, *(tuple(float(chance.random() < rate) for _ in range(n)) for n in (n_before, n_after)))
            for rate in rates
        ]
        hits += p_value(samples) <= 0.05
    assert hits / 600 <= 0.07


def test_a_split_of_many_partial_scores_is_quick_and_sane() -> None:
    chance = random.Random(8)

    def near(middle: float, n: int) -> tuple[float, ...]:
        return tuple(min(1.0, max(0.0, round(chance.gauss(middle, 0.1), 2))) for _ in range(n))

    better = [Sample(1.0, near(0.4, 6), near(0.55, 3)) for _ in range(50)]
    same = [Sample(1.0, near(0.4, 6), near(0.4, 3)) for _ in range(50)]
    assert p_value(better) < 0.001
    assert 0.01 < p_value(same) < 0.99


def test_many_trials_count_on_a_coarser_grid() -> None:
    chance = random.Random(9)
    before, after = (tuple(round(chance.random(), 2) for _ in range(n)) for n in (30, 15))
    lifted = tuple(min(1.0, value + 0.35) for value in after)
    assert p_value([Sample(1.0, before, lifted)]) < 0.02


def test_standard_error_is_that_of_the_difference() -> None:
    sample = Sample(1.0, (1.0, 0.0, 1.0, 0.0), (1.0, 0.0))
    spread = 6 * 0.25 / 5
    assert standard_error([sample]) == pytest.approx(math.sqrt(spread * (1 / 4 + 1 / 2)))
    calm = Sample(1.0, (1.0,) * 4, (1.0,) * 2)
    assert standard_error([sample, calm]) == pytest.approx(math.sqrt(spread * (1 / 4 + 1 / 2)) / 2)
    assert standard_error([calm]) == 0
    assert standard_error([]) is None


def test_no_lead_is_said_to_be_beyond_chance() -> None:
    assert [p_words(value) for value in (0.5, 0.0217, 0.001, 0.0009, 0.0)] == [
        "p 0.500",
        "p 0.022",
        "p 0.001",
        "p < 0.001",
        "p < 0.001",
    ]
