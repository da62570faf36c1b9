"""Faults of other systems in what their optimizer is shown, each as a test of ours."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.optimizer.asking import Answer, Optimizer
from daemon.optimizer.attempts import shown
from daemon.optimizer.batches import Minibatch
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.reflect import Reflector
from daemon.optimizer.replies import Pattern, ReflectReply
from harnesses.models.client import ModelRequest
from harnesses.traces.summary import summarize
from harnesses.traces.tokens import tokens
from harnesses.traces.trace import Event, Failure, FileChange, Message, ToolCall, Trace
from sandboxes.gateway.policy import Usage
from tests.support.golden import claude, codex
from tests.support.optimizer import ScriptedOptimizer, edit, make_result, make_skill, reflection, user_text

SKILL = make_skill(*(f"- Rule {number}: look at the columns before the rows." for number in range(40)))


async def asked(cut: list[Minibatch], **fields: Any) -> list[ModelRequest]:
    """The requests that reflecting on these minibatches makes."""
    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    client = ScriptedOptimizer(lambda _: reflection())
    fields = {"skill": SKILL, "buffer": StepBuffer(1), "budget": 4, "step": 1, **fields}
    await Reflector(Optimizer(client, journal, "r1"), **fields).reflect(cut)
    return client.requests


def failed(task_id: str, trace: Trace, **fields: Any) -> Minibatch:
    summary = summarize(trace, outcome="completed", skill=SKILL.text, **fields)
    return Minibatch(solved=False, results=(make_result(task_id, 0.0, summary=summary),), place=task_id)


@pytest.mark.parametrize("trace", [codex("success"), claude("success")])
async def test_233_more_than_three_lines_of_an_agents_work_reach_the_optimizer(trace: Trace) -> None:
    """A peer gave a few lines of figures: that SKILL.md was read, at most three errors, the answer's form."""
    [request] = await asked([failed("t1", trace)])
    text = user_text(request)
    for event in trace.events:
        if isinstance(event, ToolCall):
            assert event.input.splitlines()[0] in text
        if isinstance(event, FileChange):
            assert f"file {event.kind}: {event.path}" in text
    assert "exit code 3" in text
    assert "oops" in text
    assert text.index("wc -l") < text.index("oops") < text.index("file add") < text.index("Done: wrote answer.txt")


async def test_238_the_error_in_the_middle_of_a_long_claude_code_run_is_not_cut_out() -> None:
    """A peer cut traces by characters, through the middle, where the cause of the failure stood."""
    events: list[Event] = [
        ToolCall("Bash", f"python step{n}.py", "ok\n" * 400, ok=True, exit_code=0) for n in range(200)
    ]
    events[97] = ToolCall("Bash", "python step97.py", "Exit code 1\nKeyError: 'Total'", ok=False, exit_code=1)
    events[150] = Failure("request retried: overloaded (status 529)")
    cut = [failed("t1", Trace(events=(*events, Message("Done")), final_answer="Done"))]
    [request] = await asked(cut, trace_tokens=1_000)
    text = user_text(request)
    for kept in ("KeyError: 'Total'", "step97.py", "status 529", "step0.py", "1. tool Bash", "Done"):
        assert kept in text
    assert re.search(r"\(… \d+ left out …\)", text)
    start = text.index("What the agent did:")
    assert not re.search(r"^[^ 0-9\n<].*characters left out", text[start:], re.MULTILINE)


async def test_the_skill_and_the_instructions_are_sent_once_and_not_once_an_attempt() -> None:
    """A peer repeated the target's whole system prompt, skill and all, for each of eight attempts."""
    read = (ToolCall("Bash", "cat .claude/skills/demo/SKILL.md", SKILL.text, ok=True), Message("Done"))
    results = tuple(
        make_result(f"t{n}", 0.0, summary=summarize(Trace(events=read, final_answer="Done"), skill=SKILL.text))
        for n in range(8)
    )
    [request] = await asked([Minibatch(solved=False, results=results, place="all")])
    whole = request.system + user_text(request)
    assert whole.count("Rule 17: look at the columns") == 1
    assert whole.count("You improve a skill") == 1
    assert user_text(request).count("[SKILL.md as shown above]") == 8


async def test_9059_a_minibatch_of_huge_traces_does_not_explode_the_context() -> None:
    """A peer ignored its minibatch size, and truncation had been taken out: prompts outgrew every context."""
    huge = [
        make_result(
            f"t{n}",
            0.0,
            summary=summarize(
                Trace(events=tuple(ToolCall("Bash", "x" * 4_000, "y" * 4_000, ok=bool(k % 5)) for k in range(300)))
            ),
            feedback="z" * 10**6,
            final_answer="w" * 10**6,
        )
        for n in range(8)
    ]
    small, large = [
        await asked([Minibatch(solved=False, results=tuple(huge[:n]), place="m")], trace_tokens=6_000) for n in (1, 8)
    ]
    room = tokens(large[0].system) + 6_000 + 2_000
    assert tokens(large[0].system + user_text(large[0])) < room
    assert tokens(user_text(small[0])) > 3_000  # one alone may use it all
    assert len(shown(huge, 6_000)) == 8


def test_a_patterns_words_stay_with_their_own_pattern() -> None:
    """A peer zip()ped descriptions to unrelated groups: one pattern told of digits, and named all twenty tasks."""
    reflector = Reflector(None, SKILL, StepBuffer(1), 4, step=1)  # type: ignore[arg-type]
    replies = [
        ReflectReply(
            patterns=[
                Pattern(type="no check", count=2, description="The result was not opened."),
                Pattern(type="wrong sheet", count=1, description="The first sheet was taken."),
            ],
            reasoning="r",
            edits=[],
        ),
        ReflectReply(
            patterns=[Pattern(type="wrong sheet", count=3, description="Sheets were mixed up.")],
            reasoning="r",
            edits=[],
        ),
    ]
    cut = [Minibatch(solved=False, results=(make_result(f"t{n}", 0.0),), place=str(n)) for n in range(2)]
    found = reflector.gather(cut, [Answer(reply, "", Usage()) for reply in replies])
    assert [(p.type, p.count, p.description) for p in found.patterns] == [
        ("wrong sheet", 4, "The first sheet was taken."),
        ("no check", 2, "The result was not opened."),
    ]


async def test_a_minibatch_whose_reply_is_lost_costs_no_other_its_edits() -> None:
    """A peer dropped a minibatch at any exception, with nothing but a traceback."""
    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    client = ScriptedOptimizer(
        lambda request: '{"patterns": [' if 'task="t0"' in user_text(request) else reflection(edit("- Check."))
    )
    cut = [Minibatch(solved=False, results=(make_result(f"t{n}", 0.0),), place=str(n)) for n in range(2)]
    found = await Reflector(Optimizer(client, journal, "r1"), SKILL, StepBuffer(1), 4, step=1).reflect(cut)
    assert [patch.ids for patch in found.patches] == [("t1",)]
    assert len(found.errors) == 1
    assert "1/reflect/0" in found.errors[0]


async def test_the_beginning_of_all_prompts_of_a_step_is_the_same_to_the_byte() -> None:
    """A peer gave providers nothing to cache: the parts that differ came first."""
    cut = [failed(f"t{n}", codex("success")) for n in range(3)]
    requests = await asked(cut, meta_skill="Small edits held up.")
    beginnings = {(r.system, r.messages[0].content[: r.messages[0].stable]) for r in requests}
    assert len(beginnings) == 1
    [(_, beginning)] = beginnings
    assert beginning.startswith("<optimizer_memory>")
    assert beginning.endswith("</earlier_steps>\n")
    assert "<attempt" not in beginning


async def test_154_nothing_of_score_detail_or_answer_reaches_the_optimizer() -> None:
    """A peer's optimizer read the judge's pattern in the failure reason, and wrote it into the skill."""
    result = make_result("t1", 0.0, score_detail={"expected": "KESTREL", "regex": "^K.*L$"}, feedback="wrong answer")
    [request] = await asked([Minibatch(solved=False, results=(result,), place="0")])
    whole = json.dumps([request.system, user_text(request)])
    assert "KESTREL" not in whole
    assert "^K" not in whole
    assert str(result.task.answer) not in whole
