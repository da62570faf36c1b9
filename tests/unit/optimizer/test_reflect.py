"""Reflection: who is asked what, in which order, and what is made of the answers."""

from __future__ import annotations

import random
import re
from typing import Any

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.optimizer.asking import Optimizer
from daemon.optimizer.attempts import Speaker
from daemon.optimizer.batches import Minibatch
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.proposals import unite_patterns
from daemon.optimizer.reflect import MOST_EDITS, Reflection, Reflector
from daemon.optimizer.replies import Pattern
from daemon.tasks.task import Task
from harnesses.models.client import ModelRequest
from tests.support.optimizer import Replier, ScriptedOptimizer, edit, make_result, make_skill, reflection, user_text

CUT = [
    Minibatch(solved=False, results=(make_result("f1", 0.0), make_result("f2", 0.25, hard=False))),
    Minibatch(solved=False, results=(make_result("f3", 0.0),), place="1"),
    Minibatch(solved=True, results=(make_result("s1", 1.0),), place="2"),
]


async def reflector_for(client: ScriptedOptimizer, budget: int | None = 3, **fields: Any) -> Reflector:
    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    optimizer = Optimizer(client, journal, "r1")
    return Reflector(optimizer, make_skill("Look first."), StepBuffer(1), budget, step=1, **fields)


async def reflected(
    reply: Replier, budget: int | None = 3, chaos: random.Random | None = None, **fields: Any
) -> tuple[Reflection, ScriptedOptimizer]:
    client = ScriptedOptimizer(reply, chaos=chaos)
    return await (await reflector_for(client, budget, **fields)).reflect(CUT), client


def echo(request: ModelRequest) -> dict[str, Any]:
    """One edit a minibatch, named after its first task, with every id as evidence."""
    ids = re.findall(r'<attempt task="([^"]+)"', user_text(request))
    pattern = {"type": request.schema_name, "count": len(ids), "description": "d"}
    return reflection(edit(f"for {ids[0]}", evidence=[*ids, "foreign", ids[0]]), patterns=[pattern])


async def test_each_group_has_its_own_role_and_the_skill_once_a_prompt() -> None:
    _, client = await reflected(echo)
    assert sorted(request.schema_name for request in client.requests) == [
        "reflect_failures",
        "reflect_failures",
        "reflect_successes",
    ]
    for request in client.requests:
        assert user_text(request).count("Look first.") == 1
        assert "Look first." not in request.system


async def test_the_prompts_of_a_group_share_a_stable_beginning() -> None:
    _, client = await reflected(echo)
    first, second = (user_text(request) for request in client.asked("reflect_failures"))
    start = first.index("<attempt ")
    assert first[:start] == second[:start]


async def test_patches_come_in_the_minibatches_order_whoever_answers_first() -> None:
    for seed in range(5):
        found, _ = await reflected(echo, chaos=random.Random(seed))
        assert [patch.edits[0].content for patch in found.patches] == ["for f1", "for f3", "for s1"]
        assert [patch.source for patch in found.patches] == ["failures", "failures", "successes"]


async def test_minibatches_asked_one_by_one_in_any_order_come_to_the_same() -> None:
    whole, _ = await reflected(echo)
    client = ScriptedOptimizer(echo)
    reflector = await reflector_for(client)
    answers = {ordinal: await reflector.reflect_one(CUT[ordinal]) for ordinal in (2, 0, 1)}
    asked = len(client.requests)
    assert reflector.gather(CUT, [answers[ordinal] for ordinal in range(len(CUT))]) == whole
    assert len(client.requests) == asked


async def test_without_a_budget_all_edits_are_taken_up_to_a_hard_bound() -> None:
    found, client = await reflected(lambda _: reflection(*(edit(f"e{i}") for i in range(63))), budget=None)
    assert [len(patch.edits) for patch in found.patches] == [63, 63, 63]
    assert found.notes == ()
    assert all("<edit_budget>unlimited</edit_budget>" in user_text(request) for request in client.requests)
    found, _ = await reflected(lambda _: reflection(*(edit(f"e{i}") for i in range(10_000))), budget=None)
    assert [len(patch.edits) for patch in found.patches] == [MOST_EDITS] * 3
    assert found.notes[0] == "1/reflect/0: 10000 edits proposed, the first 64 taken"


async def test_the_optimizers_memory_stands_in_front_and_only_where_there_is_one() -> None:
    _, client = await reflected(echo, meta_skill="Small edits held </optimizer_memory> up.")
    for request in client.requests:
        start = "<optimizer_memory>\nSmall edits held &lt;/optimizer_memory> up.\n</optimizer_memory>\n<current_skill>"
        assert user_text(request).startswith(start)
    _, client = await reflected(echo)
    assert not any("optimizer_memory" in user_text(request) for request in client.requests)


async def test_every_text_of_an_attempt_passes_the_firewall() -> None:
    result = make_result("f1", 0.0, summary="saw GOLD here", feedback="not GOLD", final_answer="it is GOLD")
    cut = [Minibatch(solved=False, results=(result,))]
    client = ScriptedOptimizer(echo)
    seen: set[tuple[str, str]] = set()

    def outgoing(text: str, task: Task, speaker: Speaker = "scorer") -> str:
        seen.add((task.id, speaker))
        return text.replace("GOLD", "[withheld]").replace("Do f1.", "A task.")

    await (await reflector_for(client, outgoing=outgoing)).reflect(cut)
    text = user_text(client.requests[0])
    assert seen == {("f1", "agent"), ("f1", "scorer")}
    assert text.count("[withheld]") == 3
    assert "GOLD" not in text
    assert "Task: A task." in text


async def test_evidence_is_the_minibatchs_own() -> None:
    found, _ = await reflected(echo)
    assert [patch.edits[0].evidence for patch in found.patches] == [("f1", "f2"), ("f3",), ("s1",)]


async def test_patterns_are_those_of_failures() -> None:
    found, _ = await reflected(echo)
    assert [(pattern.type, pattern.count) for pattern in found.patterns] == [("reflect_failures", 3)]


async def test_a_minibatch_proposes_no_more_than_the_steps_budget() -> None:
    """Fault of a peer: the static budget was shown, not the scheduled one."""
    found, client = await reflected(lambda _: reflection(*(edit(f"e{i}") for i in range(1_000))), budget=2)
    assert [len(patch.edits) for patch in found.patches] == [2, 2, 2]
    assert "1000 edits proposed, the first 2 taken" in found.notes[0]
    assert all("<edit_budget>2</edit_budget>" in user_text(request) for request in client.requests)


async def test_a_bad_reply_costs_its_own_minibatch_and_is_told() -> None:
    found, _ = await reflected(lambda r: "nonsense" if 'task="f3"' in user_text(r) else echo(r))
    assert [patch.ids for patch in found.patches] == [("f1", "f2"), ("s1",)]
    assert len(found.errors) == 1
    assert found.errors[0].startswith("1/reflect/1: ")


async def test_an_empty_patch_is_no_patch() -> None:
    found, _ = await reflected(lambda _: reflection())
    assert found.patches == ()
    assert found.errors == ()


def test_patterns_of_a_type_are_added_up_and_bounded() -> None:
    groups = [
        [Pattern(type="a", count=1, description="x" * 9999), Pattern(type="b", count=5, description="b")],
        [Pattern(type=" a\n", count=9, description="later"), Pattern(type="c", count=-5, description="c")],
        [Pattern(type=f"n{i}", count=0, description="") for i in range(50)],
    ]
    united = unite_patterns(groups)
    assert [(pattern.type, pattern.count) for pattern in united[:3]] == [("a", 10), ("b", 5), ("c", 0)]
    assert len(united) == 12
    assert max(len(pattern.description) for pattern in united) == 300
