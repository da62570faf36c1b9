"""Attempts as the optimizer is shown them: one budget for all, each part in its place, nothing twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from daemon.optimizer.attempts import Speaker, shown
from daemon.rollouts.result import TaskResult
from daemon.tasks.task import Task
from harnesses.traces.skill_text import SHOWN_ABOVE
from harnesses.traces.summary import summarize
from harnesses.traces.tokens import tokens
from harnesses.traces.trace import Event, Message, ToolCall, Trace
from tests.support.optimizer import make_result, make_skill

SKILL = make_skill(*(f"- Rule {number}: look at the columns before the rows." for number in range(12)))


def attempt(task_id: str, steps: int, **fields: Any) -> TaskResult:
    """A failed attempt of so many steps, with an error in the middle."""
    events: list[Event] = [
        ToolCall("Bash", f"step {n}", "fine\n" * 30 if n != steps // 2 else f"BOOM-{task_id}\n" * 9, n != steps // 2)
        for n in range(steps)
    ]
    events.append(Message(f"end of {task_id}"))
    summary = summarize(Trace(events=tuple(events), final_answer=f"end of {task_id}"), outcome="completed")
    return make_result(task_id, 0.0, summary=summary, final_answer=f"end of {task_id}", **fields)


def cost(rows: list[dict[str, Any]]) -> int:
    return sum(tokens(row[key]) for row in rows for key in ("prompt", "feedback", "summary", "final_answer"))


@pytest.mark.parametrize("budget", [1_000, 3_000, 24_000])
def test_all_attempts_of_a_minibatch_share_one_budget(budget: int) -> None:
    rows = shown([attempt(f"t{n}", 150, feedback="wrong " * 200) for n in range(8)], budget)
    assert cost(rows) <= budget * 1.02
    for row in rows:
        assert f"BOOM-{row['task']}" in row["summary"]
        assert f"end of {row['task']}" in row["summary"]


def test_short_attempts_leave_their_rest_to_long_ones() -> None:
    alone = shown([attempt("long", 150)], 4_000)[0]
    [*short, long] = shown([*(attempt(f"t{n}", 2) for n in range(6)), attempt("long", 150)], 4_000)
    whole = shown([attempt("t0", 2)], 10_000)[0]
    assert short[0]["summary"] == whole["summary"]
    assert tokens(long["summary"]) > 4_000 // 7 * 2
    assert tokens(long["summary"]) < tokens(alone["summary"])


def test_within_an_attempt_short_parts_stay_whole() -> None:
    [row] = shown([attempt("t1", 150, feedback="3 of 8 cells differ")], 400)
    assert row["feedback"] == "3 of 8 cells differ"
    assert row["prompt"] == "Do t1."


def test_the_final_answer_is_in_the_summary_and_nowhere_else() -> None:
    answer = "line one\nline two"
    summary = summarize(Trace(events=(Message(answer),), final_answer=answer))
    [row] = shown([make_result("t1", 0.0, summary=summary, final_answer=answer)], 5_000)
    assert row["final_answer"] == ""
    assert row["summary"].count("line two") == 1
    [row] = shown([make_result("t1", 0.0, summary="of another kind", final_answer=answer)], 5_000)
    assert row["final_answer"] == answer


def test_the_skill_is_not_in_an_attempt_even_if_it_was_journaled_with_it() -> None:
    read = Trace(events=(ToolCall("Bash", "cat SKILL.md", SKILL.text, ok=True),))
    [row] = shown([make_result("t1", 0.0, summary=summarize(read))], 24_000, skill=SKILL.text)
    assert "look at the columns" not in row["summary"]
    assert SHOWN_ABOVE in row["summary"]


def test_the_firewall_sees_whole_texts_before_they_are_cut() -> None:
    """A cut through the middle of a text would hide it from the firewall, and not from a model."""
    secret = "the seven words that must not pass"
    seen: list[tuple[Speaker, int]] = []

    def outgoing(text: str, task: Task, speaker: Speaker = "scorer") -> str:
        seen.append((speaker, len(text)))
        return text.replace(secret, "[withheld]")

    long = "x" * 3_000 + secret + "y" * 3_000
    result = make_result("t1", 0.0, summary=long, feedback=long, final_answer=long)
    [row] = shown([result], 500, outgoing=outgoing)
    assert sorted(seen) == [("agent", 6), ("agent", len(long)), ("scorer", len(long))]
    assert secret[:20] not in json.dumps(row)


def test_equal_attempts_are_shown_alike_whatever_the_order() -> None:
    one, other = attempt("a", 80), attempt("b", 80)
    first = {row["task"]: row for row in shown([one, other], 900)}
    second = {row["task"]: row for row in shown([other, one], 900)}
    assert first == second
