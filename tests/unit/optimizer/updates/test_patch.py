"""Patch mode: merge, refuse, learning rate, rank, and what is said where nothing is left."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.optimizer.updates.forms import EDITS
from daemon.optimizer.updates.learning_rate import LearningRate
from daemon.optimizer.updates.modes import MODES
from daemon.optimizer.updates.patch import PatchMode
from harnesses.models.client import ModelRequest
from skills_repo.edits import Edit, EditLimits
from tests.support.optimizer import sensible, user_text
from tests.support.updates import context_for, patch

MODE = PatchMode()


def contents(edits: tuple[Edit, ...]) -> list[str]:
    return [edit.content for edit in edits]


def no_b(edit: Edit) -> str:
    return "it is b" if edit.content == "b" else ""


async def test_edits_are_merged_ranked_and_clipped_to_the_budget() -> None:
    context, client = await context_for()
    found = await MODE.propose([patch("a"), patch("b"), patch("c", "successes")], context)
    assert contents(found.proposed) == ["a", "b", "c"]
    assert contents(found.chosen) == ["a", "b"]
    assert (found.budget, found.reason, found.refused, found.record) == (2, "", (), {})
    assert [request.schema_name for request in client.requests] == ["merge", "merge", "rank"]
    assert found.usage.requests == 3


async def test_what_the_step_refuses_takes_no_place_in_the_ranking() -> None:
    context, client = await context_for(refuse=no_b)
    found = await MODE.propose([patch("a"), patch("b"), patch("c", "successes")], context)
    assert contents(found.chosen) == ["a", "c"]
    assert [(edit.content, reason) for edit, reason in found.refused] == [("b", "it is b")]
    assert client.asked("rank") == []


async def test_where_all_is_refused_the_reason_is_the_first_edits() -> None:
    context, _ = await context_for(refuse=no_b)
    found = await MODE.propose([patch("b")], context)
    assert (found.chosen, found.reason) == ((), "every proposed edit was refused: it is b")


async def test_a_merge_that_leaves_nothing_says_so() -> None:
    context, _ = await context_for(lambda _: {"reasoning": "", "edits": []})
    found = await MODE.propose([patch("a"), patch("b")], context)
    assert (found.proposed, found.chosen, found.reason) == ((), (), "merging left no edit")


async def test_without_a_budget_nothing_is_ranked() -> None:
    context, client = await context_for(budget=None)
    found = await MODE.propose([patch(str(i)) for i in range(7)], context)
    assert len(found.chosen) == 7
    assert found.budget is None
    assert client.asked("rank") == []
    assert "<edit_budget>unlimited</edit_budget>" in user_text(client.asked("merge")[0])


async def test_the_picked_budget_holds_in_the_ranking_and_is_asked_for_before_it() -> None:
    def reply(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name == "learning_rate":
            return {"learning_rate": 3, "reasoning": "r", "confidence": 1.0, "risk_notes": "none"}
        return sensible(request)

    context, client = await context_for(reply, budget=4, learning_rate=LearningRate(1, 4, 10))
    found = await MODE.propose([patch(str(i)) for i in range(5)], context)
    assert found.budget == len(found.chosen) == 3
    assert [request.schema_name for request in client.requests] == ["merge", "learning_rate", "rank"]
    assert found.record["learning_rate"]["risk_notes"] == "none"


async def test_the_meta_skill_is_put_before_merge_and_rank_and_nothing_else() -> None:
    context, client = await context_for(meta_skill="MEMO", budget=2, learning_rate=LearningRate(1, 2, 10))
    await MODE.propose([patch(str(i)) for i in range(5)], context)
    told = {request.schema_name: "MEMO" in user_text(request) for request in client.requests}
    assert told == {"merge": True, "learning_rate": False, "rank": True}


def test_the_modes_are_found_by_their_names() -> None:
    assert {name: mode.name for name, mode in MODES.items()} == {
        "patch": "patch",
        "suggestions": "suggestions",
        "rewrite": "rewrite",
    }


def test_patch_mode_keeps_budget_and_limits() -> None:
    limits = EditLimits(3)
    assert (MODE.budget(3), MODE.budget(None), MODE.limits(limits)) == (3, None, limits)


@pytest.mark.parametrize(
    ("budget", "wish"),
    [
        (None, "Propose as many edits as are needed, and no more."),
        (1, "Propose at most 1 edit."),
        (4, "Propose at most 4 edits."),
    ],
)
def test_reflection_is_told_the_budget_in_words(budget: int | None, wish: str) -> None:
    assert EDITS.wish(budget) == wish
