"""What holds of every scorer, by whichever rule: one table of specimens against one table of hostile answers.

A scorer's own time is processor time, which does not depend on how busy the machine is; what runs in a child is bounded
there in the same way.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.tasks.scorers.registry import SCORERS, build_scorer, check_scorer, score_task
from daemon.tasks.scorers.scorer import Context, Result, VerifierError
from daemon.tasks.task import Score
from tests.support.scorers import (
    HOSTILE,
    HOSTILE_FILES,
    WAYS,
    Specimen,
    other_ways,
    playing,
    said,
    specimens,
    wrote,
)

EVERY = (*sorted(SCORERS), *WAYS)
OWN_S = 5.0
"""Processor time of this process that no answer may take, on a slow machine: a hundredth of it is much already."""


@pytest.fixture
def table(tmp_path: Path) -> Mapping[str, Specimen]:
    return {**specimens(tmp_path), **other_ways(tmp_path)}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return playing(scratch)


def test_every_scorer_has_a_specimen(table: Mapping[str, Specimen]) -> None:
    assert set(table) == set(EVERY)
    assert {name: one.task.scorer.name for name, one in table.items()} == {name: name.split(",")[0] for name in EVERY}
    assert all(type(kind.version) is int and kind.version >= 1 for kind in SCORERS.values())


@pytest.mark.parametrize("name", EVERY)
async def test_right_and_wrong_are_told_apart(name: str, table: Mapping[str, Specimen], context: Context) -> None:
    one = table[name]
    check_scorer(one.task)
    solved = await score_task(one.task, one.solved, context)
    missed = await score_task(one.task, one.missed, context)
    assert (solved.value, solved.hard, solved.feedback) == (1.0, True, "")
    assert missed.value < 1.0
    assert not missed.hard
    assert missed.feedback, "what failed is said"


@pytest.mark.parametrize("name", EVERY)
async def test_the_same_result_scores_the_same(name: str, table: Mapping[str, Specimen], context: Context) -> None:
    one = table[name]
    first, second = [await score_task(one.task, one.missed, context) for _ in range(2)]
    assert (first.value, first.hard, first.feedback) == (second.value, second.hard, second.feedback)


@pytest.mark.parametrize("name", EVERY)
async def test_scores_at_the_same_time_do_not_mix(name: str, table: Mapping[str, Specimen], context: Context) -> None:
    one = table[name]
    scores = await asyncio.gather(*(score_task(one.task, result, context) for result in (one.solved, one.missed) * 3))
    assert [score.hard for score in scores] == [True, False] * 3


async def verdict(one: Specimen, result: Result, context: Context) -> Score | None:
    """The score, or None for an invalid one; whatever else leaves the scorer itself fails the test."""
    if result.episode is None:
        result = replace(result, episode=one.missed.episode)  # whatever an agent says, its game was not won
    try:
        score = await build_scorer(one.task.scorer, context).score(one.task, result)
    except VerifierError:
        return None
    assert math.isfinite(score.value)
    assert 0.0 <= score.value <= 1.0
    assert len(score.feedback) < 2_000
    score.feedback.encode()  # no half characters on their way to a model
    return score


@pytest.mark.parametrize("name", EVERY)
async def test_hostile_answers_get_a_verdict_or_are_invalid(
    name: str, table: Mapping[str, Specimen], context: Context
) -> None:
    one = table[name]
    await verdict(one, one.solved, context)
    solved = []
    for odd, text in HOSTILE.items():
        if one.slow and odd not in one.slow:
            continue
        result = wrote(one.reads, text.encode("utf-8", "surrogatepass")) if one.reads else said(text)
        began = time.process_time()
        score = await verdict(one, result, context)
        assert time.process_time() - began < OWN_S, odd
        if score is None or score.hard:
            solved.append(odd)
    assert solved == SURPRISES.get(name, []), "nothing hostile solves a task, and nothing here is invalid"
    again = await score_task(one.task, one.solved, context)
    assert again.hard, "an honest answer still scores after all that"


SURPRISES: Mapping[str, list[str]] = {
    # A bare 5 is compatible with a gold of 5 million, by OfficeQA's rule.
    "numeric": ["right to left"],
    "numeric, unit": ["right to left"],
    "officeqa": ["right to left"],
}


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("odd", sorted(HOSTILE_FILES))
async def test_hostile_files_get_a_verdict_or_are_invalid(
    name: str, odd: str, table: Mapping[str, Specimen], context: Context
) -> None:
    one = table[name]
    if not one.reads:
        data = HOSTILE_FILES[odd]().decode("latin-1")[:30_000]
        score = await verdict(one, said(data), context)
    else:
        score = await verdict(one, wrote(one.reads, HOSTILE_FILES[odd]()), context)
    assert score is not None
    assert not score.hard
