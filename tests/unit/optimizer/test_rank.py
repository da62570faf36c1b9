"""Ranking: only where there is something to choose, and indices that can be trusted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daemon.optimizer.rank import Ranked, rank
from skills_repo.edits import MAX_EDITS, Edit, Op
from tests.support.optimizer import ScriptedOptimizer, make_skill, section
from tests.support.updates import optimizer_for

EDITS = [Edit(Op.APPEND, content=f"e{i}", support=support) for i, support in enumerate([1, 3, 2, 3])]


async def ranked(reply: Any, budget: int | None = 2) -> tuple[Ranked[Edit], ScriptedOptimizer]:
    client = ScriptedOptimizer(lambda _: reply)
    return await rank(await optimizer_for(client), make_skill(), EDITS, budget=budget, step=1), client


def contents(found: Ranked[Edit]) -> list[str]:
    return [edit.content for edit in found.edits]


async def test_the_models_order_is_kept_and_clipped() -> None:
    found, client = await ranked({"reasoning": "", "selected": [2, 0, 1]})
    assert contents(found) == ["e2", "e0"]
    assert found.notes == ()
    rows = json.loads(section(client.requests[0], "edits"))
    assert [(row["index"], row["content"], row["support"]) for row in rows][1] == (1, "e1", 3)
    assert section(client.requests[0], "edit_budget") == "2"


@pytest.mark.parametrize("budget", [4, 9])
async def test_nothing_is_asked_if_all_fit(budget: int) -> None:
    found, client = await ranked({}, budget)
    assert contents(found) == ["e0", "e1", "e2", "e3"]
    assert client.requests == []


async def test_repeated_and_foreign_indices_are_left_out_and_told() -> None:
    found, _ = await ranked({"reasoning": "", "selected": [9, -1, 3, 3]})
    assert contents(found) == ["e3"]
    assert found.notes == ("1/rank/0: 3 indices were repeated or do not exist",)


@pytest.mark.parametrize("reply", [{"reasoning": "", "selected": []}, {"reasoning": "", "selected": [7]}, "nonsense"])
async def test_without_a_usable_index_support_decides_then_order_and_it_is_told(reply: Any) -> None:
    found, _ = await ranked(reply)
    assert contents(found) == ["e1", "e3"]
    assert any("most support" in note for note in found.notes)


async def test_without_a_budget_nothing_is_asked_and_a_flood_is_cut_aloud() -> None:
    found, client = await ranked({}, None)
    assert (contents(found), found.notes) == (["e0", "e1", "e2", "e3"], ())
    many = [Edit(Op.APPEND, content=f"e{i}") for i in range(MAX_EDITS + 9)]
    optimizer = await optimizer_for(client)
    cut = await rank(optimizer, make_skill(), many, budget=None, step=1)
    assert cut.edits == tuple(many[:MAX_EDITS])
    assert cut.notes == (f"1/rank: {MAX_EDITS + 9} edits, the first {MAX_EDITS} taken",)
    assert client.requests == []


async def test_the_optimizers_memory_is_shown() -> None:
    client = ScriptedOptimizer(lambda _: {"reasoning": "", "selected": [0]})
    await rank(await optimizer_for(client), make_skill(), EDITS, budget=1, step=1, meta_skill="MEMO")
    assert section(client.requests[0], "optimizer_memory") == "MEMO"
