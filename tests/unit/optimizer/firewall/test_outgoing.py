"""What goes to the optimizer: gold, verifier source and held-out text are cut out, the rest stays readable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daemon.optimizer.firewall import WITHHELD, Speaker
from tests.unit.optimizer.firewall.world import CHECK, HELD_TEXT, LONG_GOLD, firewall, task

SAID = (
    # (task, what a scorer says, what goes out)
    ("ship", "wrong: it is Port Alder", "wrong: it is [withheld]"),
    ("ship", "wrong: it is PORT-ALDER, said Po\u200brt  Ålder", "wrong: it is [withheld], said [withheld]"),
    ("ship", "expected 'Alder Port' but got 'Port'", "expected [withheld] but got 'Port'"),
    ("ship", "Gold answers: Port Alder, Alder\nnext", "Gold answers: [withheld]\nnext"),
    ("sum", "want 88,213.750, got 88000", "want [withheld], got 88000"),
    ("sum", "off from 88213.8 by 213.75", "off from [withheld] by 213.75"),
    (
        "list",
        "should be signed by I. Vandermeer (or Ilse Vandermeer)",
        "should be signed by [withheld] (or [withheld])",
    ),
    ("label", "the answer should be yes, not no", "the answer should be [withheld], not no"),
    ("label", "yes", WITHHELD),
    ("label", "Final answer: **Yes**", f"Final answer: **{WITHHELD}**"),
    ("sheet", "B1 lacks Thornbury Works and B2 77310.50", "B1 lacks [withheld] and B2 [withheld]"),
    ("checked", "text.count gave 3, not 90417", "text.count gave 3, not [withheld]"),
    ("checked", "AssertionError: assert 3 == 90417", "AssertionError: assert 3 == [withheld]"),
    ("checked", "12 checks: value was 7 but 9 was expected", "12 checks: value was 7 but [withheld] was expected"),
    ("plain-04", "expected output 4", "expected output [withheld]"),
    ("plain-04", "the correct answer is 4.", "the correct answer is [withheld]."),
    ("plain-04", "should be 4 and not 5", "should be [withheld] and not 5"),
)


@pytest.mark.parametrize(("task_id", "said", "out"), SAID)
def test_a_scorers_message_loses_what_is_gold(task_id: str, said: str, out: str) -> None:
    assert firewall().outgoing(said, task(task_id)) == out


RUBRIC = (
    "the answer is only partly right",
    "wrong answer",
    "the answer says more than was asked for: give the bare answer",
    "3 of 8 cells wrong in Sheet1!B1:B2: 2 empty (a formula without a stored value), 1 number instead of text",
    "the output file out.xlsx is missing; there is output.xlsx",
    "out.xlsx cannot be read within bounds",
    "the verdict line is malformed",
    "failed: test_total_row, test_header",
    "expected a number, but a sentence was given",
    "the task's checks did not all pass",
    "output.xlsx is not a workbook",
    "the header row is not there, and the order is not equal to that of the input",
    "row 3 should be empty and must match the header; nothing was wanted below",
    "amounts are in US$, paths in C:/temp",
)


@pytest.mark.parametrize("said", RUBRIC)
@pytest.mark.parametrize("task_id", ["ship", "sheet", "checked", "label", "matched"])
def test_words_at_rubric_level_go_out_as_they_are(task_id: str, said: str) -> None:
    assert firewall().outgoing(said, task(task_id)) == said


def test_verifier_source_is_cut_and_what_it_prints_for_people_is_not() -> None:
    line = CHECK.splitlines()[2]
    out = firewall().outgoing(f"Traceback:\n{line}\nAssertionError: the verdict line is malformed", task("checked"))
    assert "KESTREL" not in out
    assert "fullmatch" not in out
    assert out.endswith("AssertionError: the verdict line is malformed")


def test_a_scorers_regular_expression_is_cut() -> None:
    out = firewall().outgoing(r"no match for (?i)parcel code:\s*([A-Z]{2}-\d{2})", task("matched"))
    assert "parcel code" not in out


@pytest.mark.parametrize("speaker", ["scorer", "agent"])
def test_held_out_text_is_cut_whoever_says_it(speaker: Speaker) -> None:
    out = firewall().outgoing(f"I read this: {HELD_TEXT} Then I wrote it down.", task("ship"), speaker)
    assert out == f"I read this: {WITHHELD}. Then I wrote it down."


def test_how_the_family_words_its_tasks_is_no_held_out_text() -> None:
    prompt = task("ship").prompt
    assert firewall().outgoing(prompt, task("ship"), "agent") == prompt


def test_a_long_answer_is_cut_in_pieces_too() -> None:
    piece = " ".join(LONG_GOLD.split()[5:13])
    assert firewall().outgoing(f"He forgot that {piece}.", task("lease"), "agent") == f"He forgot that {WITHHELD}."


def test_a_solved_attempts_answer_is_cut_and_a_wrong_one_shown() -> None:
    guard = firewall()
    assert guard.outgoing("It lies at Port Alder.", task("ship"), "agent") == f"It lies at {WITHHELD}."
    assert guard.outgoing("<answer>yes</answer>", task("label"), "agent") == f"<answer>{WITHHELD}</answer>"
    assert guard.outgoing("It lies at Port Stanley.", task("ship"), "agent") == "It lies at Port Stanley."
    assert guard.outgoing("no", task("label"), "agent") == "no"


def test_an_agents_trace_stays_readable() -> None:
    """It never saw the gold workbook: values it computed, right or wrong, are its own."""
    trace = "$ python fill.py\nB1 = Thornbury Works\nB2 = 77310.5\nyes, 4 rows; regex [0-9]{4} matched; expected: done"
    assert firewall().outgoing(trace, task("sheet"), "agent") == trace
    assert firewall().outgoing(trace, task("plain-04"), "agent") == trace


def test_choices_are_not_pointed_at() -> None:
    """To cut the right one out of several would tell it."""
    prompt = "Answer yes or no: is the note about postage true?"
    asked = replace(task("label"), prompt=prompt)
    assert firewall().outgoing(prompt, asked, "agent") == prompt
    trace = "The answer is yes or no.\nI looked at both.\nno"
    assert firewall().outgoing(trace, asked, "agent") == trace
    place = replace(task("ship"), id="choice", prompt="Port Alder or Port Stanley?")
    assert firewall().outgoing("Port Alder is nearer than Port Stanley.", place, "agent").startswith("Port Alder")
    assert "Alder" not in firewall().outgoing("It was Port Alder.", place)


def test_the_answer_at_the_end_is_cut_however_short() -> None:
    said = firewall().outgoing("I counted the rows twice.\nThe final answer is: 4.", task("plain-04"), "agent")
    assert said == f"I counted the rows twice.\nThe final answer is: {WITHHELD}."
