"""Full rewrite mode: whole bodies, merged into one, without a budget; the guards are those of every edit."""

from __future__ import annotations

from typing import Any

from daemon.optimizer.proposals import Proposals, Source
from daemon.optimizer.replies import ReflectRewriteReply
from daemon.optimizer.updates.rewrite import REWRITE, NewBody, RewriteMode
from harnesses.models.client import ModelRequest
from skills_repo.edits import EditLimits, Op
from tests.support.optimizer import section
from tests.support.updates import context_for

MODE = RewriteMode()


def body(name: str, source: Source = "failures") -> Proposals[NewBody]:
    return Proposals(source, (NewBody(f"# {name}\n", f"about {name}", evidence=(f"t-{name}",)),), (f"t-{name}",))


def written(text: str) -> dict[str, Any]:
    return {"reasoning": "r", "summary": f"s {text}", "body": text, "evidence": ["t-a", "t-b", "t-x"]}


def replies(*texts: str) -> Any:
    waiting = iter(texts)

    def reply(request: ModelRequest) -> dict[str, Any] | str:
        text = next(waiting)
        return text if text == "nonsense" else written(text)

    return reply


async def test_a_single_body_is_taken_as_it_is() -> None:
    context, client = await context_for()
    found = await MODE.propose([body("a")], context)
    [edit] = found.chosen
    assert (edit.op, edit.content, edit.rationale, edit.evidence) == (Op.REWRITE, "# a\n", "about a", ("t-a",))
    assert (found.budget, client.requests) == (None, [])


async def test_bodies_are_merged_in_a_tree_into_one() -> None:
    context, client = await context_for(replies("# ab", "# abc"), merge_batch=2)
    found = await MODE.propose([body("a"), body("b"), body("c", "successes")], context)
    [edit] = found.chosen
    assert (edit.content, edit.support, edit.rationale) == ("# abc", 3, "s # abc")
    assert edit.evidence == ("t-a", "t-b")
    assert [request.schema_name for request in client.requests] == ["merge_rewrites"] * 2
    assert section(client.requests[0], "edit_budget") == "unlimited"


async def test_a_merge_that_cannot_be_read_leaves_the_body_with_most_support() -> None:
    context, _ = await context_for(replies("# ab", "nonsense", "nonsense"))
    found = await MODE.propose([body("s", "successes"), body("a"), body("b")], context)
    assert found.chosen[0].content == "# ab"
    assert "the body with most support is taken" in found.notes[0]


async def test_a_merge_to_nothing_is_said() -> None:
    context, _ = await context_for(replies(" "))
    found = await MODE.propose([body("a"), body("b")], context)
    assert (found.chosen, found.reason) == ((), "merging left no body")


async def test_a_body_that_the_step_refuses_is_not_tried() -> None:
    context, _ = await context_for(refuse=lambda edit: "it carries a credential")
    found = await MODE.propose([body("a")], context)
    assert (found.chosen, found.reason) == ((), "the new body was refused: it carries a credential")


def test_an_empty_body_proposes_nothing() -> None:
    reply = ReflectRewriteReply(patterns=[], reasoning="", summary="", body=" \n", evidence=["t1"])
    assert REWRITE.read(reply, ["t1"]) == ()


def test_there_is_no_budget_but_one_rewrite() -> None:
    assert MODE.budget(4) is None
    limits = MODE.limits(EditLimits(None, max_skill_chars=900))
    assert (limits.budget, limits.max_skill_chars, limits.also) == (1, 900, frozenset({Op.REWRITE}))
    assert REWRITE.wish(None) == "Write the whole new body."
