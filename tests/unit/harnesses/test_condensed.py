"""A journaled summary made smaller still: within its tokens, whole rows, both ends, every error, nothing twice."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harnesses.traces.rows import clipped
from harnesses.traces.skill_text import SHOWN_ABOVE
from harnesses.traces.summary import condensed, final_answer_of, summarize
from harnesses.traces.tokens import tokens
from harnesses.traces.trace import Event, Failure, FileChange, Message, ToolCall, Trace
from tests.support import golden
from tests.unit.harnesses.test_summary import EVENT

SKILL = "---\nname: sheets\ndescription: d\n---\n\n# Sheets\n" + "\n".join(
    f"- Check sheet {n} first." for n in range(9)
)


def long_run(steps: int = 120) -> Trace:
    """Mostly fine, with errors at a third, at half and near the end."""
    events: list[Event] = [Message("I start with the workbook.")]
    for step in range(steps):
        failed = step in (steps // 3, steps // 2, steps - 3)
        output = f"Traceback: KeyError: 'column {step}'\n" + "frame\n" * 60 if failed else f"row {step}\n" * 80
        events.append(ToolCall("Bash", f"python step_{step}.py " + "--flag " * 30, output, not failed, int(failed)))
    events += [FileChange("out.xlsx", "add"), Message("I wrote the report.\nAll done.")]
    return Trace(
        events=tuple(events), final_answer="I wrote the report.\nAll done.", stop_reason="end_turn", turns=steps
    )


def numbers(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"^(\d+)\. ", text, re.MULTILINE)]


@pytest.mark.parametrize("budget", [300, 600, 1_500, 3_000, 6_000])
def test_a_long_run_keeps_both_ends_and_every_error_within_its_tokens(budget: int) -> None:
    text = condensed(summarize(long_run()), budget)
    assert tokens(text) <= budget
    assert "outcome" not in text
    assert "tool calls: 120 (3 failed)" in text
    for failed in (40, 60, 117):
        assert f"KeyError: 'column {failed}'" in text
    kept = numbers(text)
    assert kept == sorted(kept)
    assert {1, 123} <= set(kept)
    assert text.endswith("final answer:\n  I wrote the report.\n  All done.\n")


def test_what_is_left_out_is_counted() -> None:
    text = condensed(summarize(long_run()), 600)
    gaps = sum(int(found) for found in re.findall(r"^  \(… (\d+) left out …\)$", text, re.MULTILINE))
    assert gaps + len(numbers(text)) == 123


def test_more_room_never_tells_less() -> None:
    summary = summarize(long_run())
    lengths = [len(condensed(summary, budget)) for budget in (300, 600, 1_200, 2_400, 4_800, 9_600)]
    assert lengths == sorted(lengths)
    assert condensed(summary, 9_600) == summary


def test_it_does_not_matter_in_how_many_steps_it_shrinks() -> None:
    once = condensed(summarize(long_run()), 700)
    assert condensed(once, 700) == once
    twice = condensed(condensed(summarize(long_run()), 2_000), 700)
    assert "KeyError: 'column 60'" in twice
    assert tokens(twice) <= 700


@pytest.mark.parametrize(("parse", "folder"), [(golden.codex, golden.CODEX), (golden.claude, golden.CLAUDE)])
def test_every_recorded_run_survives_with_its_errors_and_its_order(parse: object, folder: object) -> None:
    for name in golden.names(folder):  # type: ignore[arg-type]
        trace: Trace = parse(name)  # type: ignore[operator]
        summary = summarize(trace, outcome="o", harness="h")
        assert condensed(summary, 100_000) == summary, name
        text = condensed(summary, 400)
        assert tokens(text) <= 400, name
        bad = [n for n, e in enumerate(trace.events, 1) if isinstance(e, Failure) or getattr(e, "ok", True) is False]
        assert set(bad) <= set(numbers(text)), name
        assert numbers(text) == sorted(numbers(text)), name


def test_an_old_row_of_the_journal_still_works() -> None:
    """Written by an earlier version: 4,000 characters, errors cut as whole rows, answers in full."""
    old = (
        "outcome: completed\nskill listed: yes; skill opened: yes\nmodel turns: 4; tool calls: 9 (1 failed)\n"
        "ended: end_turn\nwhat happened, in order:\n1. said:\n  I look.\n  (… 6 left out …)\n"
        "8. tool Bash [FAILED, exit code 2]:\n  python x.py\n  > Traceback\n"
        "[… 900 characters left out …]\nIndexError: 7\n"
        "9. ERROR:\n  request retried: overloaded (status 529)\n10. said:\n  Done.\nfinal answer:\n  Done.\n"
    )
    text = condensed(old, 5_000)
    assert numbers(text) == [1, 8, 9, 10]
    assert "(… 6 left out …)" in text
    for kept in ("IndexError: 7", "900 characters left out", "request retried: overloaded"):
        assert kept in text
    assert final_answer_of(text) == "Done."
    assert tokens(condensed(old, 120)) <= 120
    assert "exit code 2" in condensed(old, 120)


def test_the_skill_goes_also_from_what_was_journaled_with_it() -> None:
    summary = summarize(Trace(events=(ToolCall("Bash", "cat SKILL.md", SKILL, ok=True),), final_answer=SKILL))
    assert "Check sheet 4" in summary
    text = condensed(summary, 5_000, skill=SKILL)
    assert text.count(SHOWN_ABOVE) == 2
    assert "Check sheet" not in text


@pytest.mark.parametrize("text", ["", "worked on t1: ok", "what happened, in order:\nno end", "x" * 50_000])
def test_text_that_is_no_summary_is_shortened_as_text(text: str) -> None:
    assert tokens(condensed(text, 200)) <= 200
    assert final_answer_of(text) is None
    if len(text) < 500:
        assert condensed(text, 200) == text


def test_many_errors_keep_the_first_and_the_last_and_are_counted() -> None:
    events = tuple(Failure(f"error-{number:04d} " + "e" * 200) for number in range(2_000))
    text = condensed(summarize(Trace(events=events)), 1_000)
    assert tokens(text) <= 1_000
    assert "error-0000" in text
    assert "error-1999" in text
    gaps = sum(int(found) for found in re.findall(r"\(… (\d+) left out", text))
    assert gaps + len(numbers(text)) == 2_000


def test_an_error_told_again_word_for_word_is_told_once() -> None:
    again = ToolCall("Bash", "make", "Exit code 2\n" + "no rule to make target\n" * 20, ok=False, exit_code=2)
    text = summarize(Trace(events=(again, Message("Once more."), again, again)))
    assert text.count("no rule to make target") == 20
    assert text.count("(word for word as 1)") == 2
    assert numbers(text) == [1, 2, 3, 4]


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENT, max_size=30), st.text(max_size=300), st.integers(60, 1_500))
def test_whatever_was_journaled_stays_within_its_tokens(events: list[Event], answer: str, budget: int) -> None:
    summary = summarize(Trace(events=tuple(events), final_answer=answer), outcome="completed")
    text = condensed(summary, budget)
    assert tokens(text) <= budget * 1.05 + 40
    assert not [char for char in text if ord(char) < 32 and char not in "\n\t"]


@given(st.text(alphabet="ab\n", max_size=400), st.integers(10, 300))
def test_clipping_keeps_both_ends(text: str, limit: int) -> None:
    short = clipped(text, limit)
    if len(text) <= limit:
        assert short == text
        return
    head, tail = re.split(r"\n\[… \d+ characters left out …\]\n", short)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + len(tail) <= limit
    told = re.search(r"… (\d+) characters", short)
    assert told is not None
    assert int(told[1]) == len(text) - len(head) - len(tail)


def test_clipping_twice_counts_what_was_missing_before() -> None:
    once = clipped("line\n" * 400, 300)
    twice = clipped(once, 100)
    [told] = re.findall(r"… (\d+) characters left out", twice)
    kept = len(re.sub(r"\n\[… \d+ characters left out …\]\n", "", twice))
    assert abs(int(told) + kept - 2_000) <= 3


WHY = {
    "codex": {
        "400_ctx": "ran out of room in the model's context window",
        "budget2": "budget reached",
        "drop": "stream closed before response.completed",
        "incomplete_max": "reason: max_output_tokens",
        "success_codemode": "exec_command [FAILED, exit code 3]",
        "empty_text": "final answer:\n  (none)",
    },
    "claude-code": {
        "bad_edit": "File does not exist",
        "bad_input": "The required parameter `command` is missing",
        "unknown_tool": "No such tool available: NoSuch",
        "setting_hang": "Unknown skill: nope",
        "max_turns": "Reached maximum number of turns (2)",
        "max_tokens": "response exceeded the 128000 output token maximum",
        "perm_default": "permission denied: Bash",
        "sig_term_cmd": "Bash [FAILED, exit code 137]",
        "refusal": "safeguards flagged this message",
        "500_then_ok": "request retried: server_error (status 500)",
        "v_nomodelinv": "skill listed: no",
    },
}


@pytest.mark.parametrize(("harness", "name"), [(harness, name) for harness in WHY for name in WHY[harness]])
def test_a_reader_can_tell_why_an_attempt_failed(harness: str, name: str) -> None:
    trace = golden.codex(name) if harness == "codex" else golden.claude(name)
    assert WHY[harness][name] in condensed(summarize(trace, outcome="o", harness=harness), 200)


def test_what_a_cli_says_about_its_own_set_up_is_no_error_of_the_agents() -> None:
    """Codex tells of every model it does not know; an optimizer would take it for the cause."""
    assert "Model metadata" not in summarize(golden.codex("spawn_agent"))
    assert "ERROR" not in summarize(golden.codex("spawn_agent"))
