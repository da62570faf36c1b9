"""The merge tree: its calls, its order, and bounds on what comes back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from daemon.optimizer.merge import Merger, apart
from daemon.optimizer.merge_tree import Merged, unite
from daemon.optimizer.proposals import Patch, Proposals, normalised
from harnesses.models.client import ModelReply, ModelRequest
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Edit, Op
from skills_repo.skill import Skill
from tests.support.optimizer import Replier, ScriptedOptimizer, edit, make_skill, section, sensible
from tests.support.updates import optimizer_for, patch
from tests.support.waiting import PATIENCE_S


async def merged(
    patches: list[Patch], batch: int = 8, reply: Replier = sensible
) -> tuple[Merged[Edit], ScriptedOptimizer]:
    client = ScriptedOptimizer(reply)
    return await Merger(await optimizer_for(client), make_skill(), 4, batch, step=1).merge(patches), client


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


async def test_both_groups_trees_grow_at_the_same_time_and_no_level_waits_for_the_other_group() -> None:
    """The successes' only merge ends when the failures' second level is asked, and the other way round."""
    second_level = asyncio.Event()

    class Waiting(ScriptedOptimizer):
        async def complete(self, request: ModelRequest) -> ModelReply:
            rows = sources(request)
            if rows == ["failures", "failures"] and len(self.requests) >= 3:
                second_level.set()
            if rows == ["successes", "successes"]:
                self.requests.append(request)
                await second_level.wait()
                return ModelReply(json.dumps(self.reply(request)), Usage(), "end", self.model)
            return await super().complete(request)

    client = Waiting(sensible)
    patches = [patch(f"f{i}") for i in range(4)] + [patch(f"s{i}", "successes") for i in range(2)]
    merger = Merger(await optimizer_for(client), make_skill(), 4, 2, step=1)
    found = await asyncio.wait_for(merger.merge(patches), timeout=PATIENCE_S)
    assert contents(found) == ["f0", "f1", "f2", "f3", "s0", "s1"]


async def test_an_edit_that_comes_through_unchanged_keeps_its_support_and_evidence_whatever_the_model_counts() -> None:
    def reply(request: ModelRequest) -> dict[str, Any]:
        return {"reasoning": "", "edits": [edit("a", support=1), edit("b", support=1), edit("A ", support=1)]}

    found, _ = await merged([patch("a"), patch("a"), patch("b"), patch("c")], reply=reply)
    assert found.patch is not None
    first, second = found.patch.edits
    assert (first.support, first.evidence) == (2, ("t-a",))
    assert (second.support, second.evidence) == (1, ("t-b",))


SKILL = make_skill("- one", "- two", "- three", "", "end")


def on(target: str, op: Op = Op.REPLACE, support: int = 1, content: str = "new") -> Edit:
    return Edit(op, target, "" if op is Op.DELETE else content, support=support)


@pytest.mark.parametrize(
    ("edits", "left"),
    [
        ([on("- one\n- two"), on("- two\n- three")], [0]),
        ([on("- one\n- two"), on("- two\n- three", support=2)], [1]),
        ([on("- one\n- two\n- three", support=2), on("- one"), on("- three", Op.DELETE), on("end")], [0, 3]),
        ([on("- one"), on("- two", Op.DELETE, 3), on("- one\n- two\n- three", support=2)], [0, 1]),
        ([on("- two", Op.DELETE), on("- two", Op.INSERT_AFTER)], [0]),
        ([on("- two"), on("- two", Op.INSERT_AFTER, 2)], [1]),
        ([on("- two"), on("- two")], [0]),
        ([on("- one", Op.INSERT_AFTER), on("- one", Op.INSERT_AFTER, content="more")], [0, 1]),
        ([on("- one\n"), on("- two\n")], [0, 1]),
        ([on("", Op.APPEND), on("", Op.APPEND), on("- one")], [0, 1, 2]),
        ([on("nowhere"), on("nowhere", Op.DELETE), on("- "), on("- ", Op.DELETE)], [0, 1, 2, 3]),
        ([on("name: demo"), on("name: demo")], [0, 1]),
    ],
)
def test_no_two_edits_keep_the_same_place(edits: list[Edit], left: list[int]) -> None:
    found, notes = apart(SKILL, edits)
    assert found == tuple(edits[index] for index in left)
    assert len(notes) == len(edits) - len(left)


def test_what_is_dropped_is_said_with_both_supports() -> None:
    _, [note] = apart(SKILL, [on("- one\n- two", support=2), on("- two\n", Op.DELETE)])
    assert note == "dropped delete «- two» (support 1): it overlaps with replace «- one - two» (support 2)"


async def test_overlapping_edits_of_a_single_patch_are_told_apart_too() -> None:
    edits = (on("- one\n- two"), on("- two"))
    merger = Merger(await optimizer_for(ScriptedOptimizer(sensible)), SKILL, 4, 8, step=1)
    found = await merger.merge([Proposals("failures", edits, ())])
    assert found.patch is not None
    assert found.patch.edits == edits[:1]
    assert "overlaps" in found.notes[0]


def test_a_skill_that_cannot_be_read_tells_nothing_apart() -> None:
    broken = Skill("demo", {"SKILL.md": b"no frontmatter"})
    assert apart(broken, [on("no"), on("no")]) == ((on("no"), on("no")), ())


async def test_more_edits_than_went_in_are_cut_aloud() -> None:
    def flood(request: ModelRequest) -> dict[str, Any]:
        return {"reasoning": "", "edits": [edit(f"x{i}", support=1) for i in range(10_000)]}

    found, _ = await merged([patch("a"), patch("b")], reply=flood)
    assert contents(found) == ["x0", "x1"]
    assert found.notes == ("1/merge_failures/0.0: 10000 edits came back, the first 2 taken",)
