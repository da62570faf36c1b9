"""The rule reader understands rules in many words, minds negation, and is not moved by what says nothing."""

from __future__ import annotations

import dataclasses

import pytest

from daemon.demo.ideas import FAILURES, FORMAT_AS_IS, FORMULA, GAP, KEYS, POLITE, SHEET
from daemon.demo.rules import Habits, read_habits

UNTAUGHT = Habits()


def habits(**changes: object) -> Habits:
    return dataclasses.replace(UNTAUGHT, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "rule",
    [
        "- Write computed values, never formulas.",
        "- Do not write formulas.",
        "* Never leave a formula in the result: compute it in Python.",
        "Write evaluated static values even if the prompt speaks of formulas.",
        "1. Always store the value that a formula would give.",
        "- Enter **values** instead of formulas.",
        "- Fill cells with computed values rather than formulas.",
        "- Compute results and don't write formulas.",
        "- If the task asks for a formula, write computed values.",
    ],
)
def test_values_not_formulas(rule: str) -> None:
    assert read_habits(rule) == habits(content="values")


@pytest.mark.parametrize(
    "rule",
    [
        "- Write formulas, never values.",
        "- Always use formulas rather than computed values.",
        "- Prefer to write formulas so that the sheet stays alive.",
    ],
)
def test_formulas_not_values_is_the_opposite(rule: str) -> None:
    assert read_habits(rule) == habits(content="formulas")


@pytest.mark.parametrize(
    "rule",
    [
        "- Fill the whole target range.",
        "- Fill every row of the target range, also below an empty row.",
        "- Do not stop at the first blank row.",
        "- Cover the entire range and never end at an empty cell.",
    ],
)
def test_whole_range(rule: str) -> None:
    assert read_habits(rule) == habits(whole_range=True)


@pytest.mark.parametrize(
    "rule",
    [
        "- Normalise keys before a lookup.",
        "- Before comparing keys, strip spaces and fold case.",
        "- Trim the codes on both sides before matching.",
        "- Normalize key columns (case, whitespace, numbers stored as text).",
    ],
)
def test_keys(rule: str) -> None:
    assert read_habits(rule) == habits(normalise_keys=True)


@pytest.mark.parametrize(
    ("rule", "sheet"),
    [
        ("- Write to the sheet that the task names.", "named"),
        ("- Use the named sheet, not the active one.", "named"),
        ("- Whichever sheet is active, write to the sheet named in the target range.", "named"),
        ("- Always write to the first sheet.", "first"),
        ("- Work on the leftmost tab.", "first"),
        ("- Never write to the first sheet.", "active"),
        ("- Do not use the sheet named in the task.", "active"),
    ],
)
def test_sheet(rule: str, sheet: str) -> None:
    assert read_habits(rule).sheet == sheet


@pytest.mark.parametrize(
    "rule",
    [
        "- Do not fill the whole range.",
        "- Never normalise keys.",
        "- Stop at the first empty row.",
    ],
)
def test_a_rule_against_a_good_habit_leaves_it_out(rule: str) -> None:
    assert read_habits(f"- Fill the whole range. Normalise keys.\n{rule}") != read_habits(
        "- Fill the whole range. Normalise keys."
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Never write formulas\n",
        "```\nnever write formulas\n```",
        "---\nname: x\ndescription: Never write formulas. Fill the whole range.\n---\n\n# Title\n",
        FORMAT_AS_IS.content,
        POLITE.content,
        "- Be careful with spreadsheets and check your work.",
        "- If a formula is there already, look at it.",
        "- Ask for the name of the key account manager.",
    ],
)
def test_what_says_nothing_changes_nothing(text: str) -> None:
    assert read_habits(text) == UNTAUGHT


def test_the_later_rule_wins() -> None:
    assert read_habits("- Never write formulas.\n- Always write formulas.").content == "formulas"
    assert read_habits("- Always write formulas.\n- Never write formulas.").content == "values"


def test_a_wrapped_bullet_is_one_sentence() -> None:
    assert read_habits("- Write to the\n  sheet that the task\n  names.").sheet == "named"
    assert read_habits("- Write to the\r\n  sheet that the task\r\n  names.").sheet == "named"


def test_each_idea_of_the_optimizer_changes_one_habit() -> None:
    changed = {
        FORMULA.ideas[0].content: habits(content="values"),
        GAP.ideas[0].content: habits(whole_range=True),
        KEYS.ideas[0].content: habits(normalise_keys=True),
        SHEET.ideas[0].content: habits(sheet="first"),
        SHEET.ideas[1].content: habits(sheet="named"),
    }
    for content, expected in changed.items():
        assert read_habits(content) == expected
    for failure in FAILURES:
        for idea in failure.ideas:
            assert read_habits(idea.content) != UNTAUGHT, idea.content
