"""The merge tree: its calls, its order, and bounds on what comes back."""

from __future__ import annotations

import json
from typing import Any

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.optimizer.asking import Optimizer
from daemon.optimizer.merge import Merger
from daemon.optimizer.merge_tree import Merged, unite
from daemon.optimizer.proposals import Patch, Source, normalised
from harnesses.models.client import ModelRequest
from skills_repo.edits import Edit, Op
from tests.support.optimizer import Replier, ScriptedOptimizer, edit, make_skill, section, sensible


def patch(name: str, source: Source = "failures", **fields: Any) -> Patch:
    return Patch(source, (Edit(Op.APPEND, content=name, evidence=(f"t-{name}",), **fields),), (f"t-{name}",))


async def merged(
    patches: list[Patch], batch: int = 8, reply: Replier = sensible
) -> tuple[Merged[Edit], ScriptedOptimizer]:
    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    client = ScriptedOptimizer(reply)
    return await Merger(Optimizer(client, journal, "r1"), make_skill(), 4, batch, step=1).merge(patches), client


def contents(found: Merged[Edit]) -> list[str]:
    return [edit.content for edit in found.patch.edits] if found.patch else []


def sources(request: ModelRequest) -> list[str]:
    return [row["source"] for row in json.loads(section(request, "patches"))]


async def test_a_single_patch_needs_no_call() -> None:
    found, client = await merged([patch("a", "successes")])
    assert contents(found) == ["a"]
    assert client.requests == []


async def test_nothing_proposed_merges_to_nothing() -> None:
    assert (await merged([]))[0] == Merged(None)


async def test_groups_are_merged_apart_and_then_together_with_failures_first() -> None:
    found, client = await merged([patch("s1", "successes"), patch("f1"), patch("s2", "successes"), patch("f2")])
    assert [sources(request) for request in client.requests] == [
        ["failures", "failures"],
        ["successes", "successes"],
        ["failures", "successes"],
    ]
    assert contents(found) == ["f1", "f2", "s1", "s2"]


async def test_one_patch_of_each_kind_needs_one_call() -> None:
    _, client = await merged([patch("f"), patch("s", "successes")])
    assert [sources(request) for request in client.requests] == [["failures", "successes"]]


async def test_many_patches_are_merged_level_by_level_in_their_order() -> None:
    found, client = await merged([patch(f"{i:02}") for i in range(11)], batch=4)
    assert [len(sources(request)) for request in client.requests] == [4, 4, 3, 3]
    assert contents(found) == [f"{i:02}" for i in range(11)]
    assert found.usage.requests == 4


async def test_a_leftover_patch_waits_for_the_next_level() -> None:
    _, client = await merged([patch(str(i)) for i in range(3)], batch=2)
    assert [len(sources(request)) for request in client.requests] == [2, 2]


async def test_support_and_evidence_are_bounded_by_what_was_merged() -> None:
    def reply(request: ModelRequest) -> dict[str, Any]:
        edits = [edit("x", evidence=["t-a", "t-foreign", "t-b"], support=99), edit("y", support=-3)]
        return {"reasoning": "", "edits": edits}

    found, _ = await merged([patch("a"), patch("b")], reply=reply)
    assert found.patch is not None
    first, second = found.patch.edits
    assert (first.support, first.evidence) == (2, ("t-a", "t-b"))
    assert second.support == 1


async def test_support_counts_every_patch_below() -> None:
    def reply(request: ModelRequest) -> dict[str, Any]:
        return {"reasoning": "", "edits": [edit("x", support=99)]}

    found, _ = await merged([patch(str(i)) for i in range(5)], batch=2, reply=reply)
    assert found.patch is not None
    assert found.patch.edits[0].support == 5


async def test_a_merge_brings_no_more_edits_than_went_in() -> None:
    def flood(request: ModelRequest) -> dict[str, Any]:
        return {"reasoning": "", "edits": [edit(f"x{i}", support=1) for i in range(1_000)]}

    found, _ = await merged([patch("a"), patch("b")], reply=flood)
    assert contents(found) == ["x0", "x1"]


async def test_a_merge_that_cannot_be_read_takes_the_edits_themselves_and_says_so() -> None:
    found, _ = await merged([patch("a"), patch("A "), patch("b")], reply=lambda _: "nonsense")
    assert contents(found) == ["a", "b"]
    assert "taken without repetitions" in found.notes[0]


async def test_a_merge_may_leave_nothing() -> None:
    found, client = await merged(
        [patch("a"), patch("b"), patch("s", "successes")], reply=lambda _: {"reasoning": "", "edits": []}
    )
    assert contents(found) == ["s"]
    assert len(client.requests) == 1


async def test_a_group_that_merged_to_nothing_is_not_paid_for_again() -> None:
    def reply(request: ModelRequest) -> dict[str, Any]:
        dropped = any(row["edits"][0]["content"] == "0" for row in json.loads(section(request, "patches")))
        return {"reasoning": "", "edits": []} if dropped else sensible(request)

    found, client = await merged([patch(str(i)) for i in range(4)], batch=2, reply=reply)
    assert contents(found) == ["2", "3"]
    assert len(client.requests) == 2


def test_equal_edits_add_up_their_support_and_unite_their_evidence() -> None:
    edits = [Edit(Op.APPEND, content="a", support=2, evidence=("t-a",)), Edit(Op.APPEND, content=" A", evidence=("z",))]
    [only] = unite(edits, normalised)
    assert (only.support, only.evidence) == (3, ("t-a", "z"))
