"""The autonomous schedule: asked once where it matters, and always within bounds."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.optimizer.memory import EarlierStep, StepBuffer
from daemon.optimizer.updates.learning_rate import LearningRate, Picked
from tests.support.optimizer import ScriptedOptimizer, make_skill, section, user_text
from tests.support.updates import optimizer_for

ROWS = [{"op": "append", "content": f"e{i}", "support": 1} for i in range(6)]
RATE = LearningRate(least=2, most=4, total=40)


def said(rate: Any, **fields: Any) -> dict[str, Any]:
    return {"learning_rate": rate, "reasoning": "r", "confidence": 0.5, "risk_notes": "", **fields}


async def picked(reply: Any, rate: LearningRate = RATE, rows: int = 6) -> tuple[Picked, ScriptedOptimizer]:
    client = ScriptedOptimizer(lambda _: reply)
    buffer = StepBuffer(1, (EarlierStep(2, "rejected", 0.5, 0.25, ({"op": "append"},), (), 8),))
    optimizer = await optimizer_for(client)
    return await rate.pick(optimizer, make_skill("- keep"), buffer, ROWS[:rows], step=3), client


@pytest.mark.parametrize(("asked", "taken"), [(2, 2), (3, 3), (4, 4), (9, 4), (0, 2), (-7, 2), (10**30, 4)])
async def test_the_optimizer_picks_within_the_bounds(asked: int, taken: int) -> None:
    found, client = await picked(said(asked))
    assert found.budget == taken
    assert bool(found.notes) == (asked != taken)
    assert found.usage.requests == len(client.requests) == 1
    assert found.record["learning_rate"] == asked


@pytest.mark.parametrize(
    "reply",
    [
        "four",
        "",
        said("four"),
        said(None),
        said(2.5),
        said([3]),
        {"learning_rate": 3},
        said(3, extra=1),
        '{"learning_rate": NaN}',
    ],
)
async def test_an_unusable_reply_gives_the_least_and_is_noted(reply: Any) -> None:
    found, _ = await picked(reply)
    assert found.budget == 2
    assert "the least budget of 2 is taken" in found.notes[0]


async def test_confidence_that_is_no_number_is_unusable() -> None:
    text = '{"learning_rate": 3, "reasoning": "r", "confidence": NaN, "risk_notes": ""}'
    found, _ = await picked(text)
    assert found.budget == 2


@pytest.mark.parametrize(
    ("rate", "rows"), [(RATE, 2), (RATE, 1), (LearningRate(3, 3, 40), 6), (LearningRate(4, 2, 9), 6)]
)
async def test_nothing_is_asked_where_the_answer_changes_nothing(rate: LearningRate, rows: int) -> None:
    found, client = await picked(said(3), rate, rows)
    assert (found.budget, client.requests) == (rate.least, [])


async def test_no_budget_of_zero_can_come_about() -> None:
    found, _ = await picked(said(0), LearningRate(0, 4, 40))
    assert found.budget == 1


async def test_it_is_told_what_is_proposed_the_buffer_the_step_and_the_bounds() -> None:
    _, client = await picked(said(3))
    [request] = client.requests
    assert request.schema_name == "learning_rate"
    assert section(request, "run_step") == "3 of 40"
    assert section(request, "edit_budget") == "2 to 4"
    assert section(request, "edits").count('"op"') == 6
    assert "Step 2: rejected, 1 changes rejected. Score on 8 held-out tasks 0.500 -> 0.250." in user_text(request)
