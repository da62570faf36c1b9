"""The skill's own text is taken out of what an agent read, in whatever form a tool shows it."""

from __future__ import annotations

import json

import pytest

from harnesses.traces.skill_text import SHOWN_ABOVE, without_skill
from harnesses.traces.text import shorten

RULES = [f"- Rule {number}: look at column {number} of the workbook before you write to it." for number in range(40)]
SKILL = "---\nname: sheets\ndescription: For spreadsheets.\n---\n\n# Sheets\n\n" + "\n".join(RULES) + "\n"
LINES = SKILL.rstrip("\n").split("\n")
FORMS = {
    "cat": SKILL,
    "cat with more after it": SKILL + "total 4\ninput.csv\n",
    "Read": "\n".join(f"{number}\t{line}" for number, line in enumerate(LINES, 1)),
    "Read with arrows": "\n".join(f"{number:6}\u2192{line}" for number, line in enumerate(LINES, 1)),
    "grep -n": "\n".join(f"{number}:{line}" for number, line in enumerate(LINES, 1)),
    "grep in a folder": "\n".join(f".agents/skills/sheets/SKILL.md:{line}" for line in LINES),
    "JSON": json.dumps({"content": SKILL}),
    "cut in the middle": shorten(SKILL, 1_000),
    "head -5 of its body": "\n".join(RULES[:5]),
    "indented": "\n".join("    " + line for line in LINES),
}


@pytest.mark.parametrize("form", FORMS)
def test_no_rule_is_left(form: str) -> None:
    left = without_skill(f"$ shown\n{FORMS[form]}\nthe end", SKILL)
    assert left.count(SHOWN_ABOVE) == 1
    assert "look at column" not in left
    assert left.startswith("$ shown\n")
    assert left.endswith("\nthe end")
    assert len(left) < 120


def test_a_line_cut_within_is_still_the_skills() -> None:
    whole = "\n".join(RULES[:6])
    for at in range(20, 60, 7):
        cut = f"{whole[:-at]}\n[… {at} characters left out …]\n{RULES[9][-at:]}"
        assert without_skill(cut, SKILL) == SHOWN_ABOVE


def test_what_stands_around_it_stays() -> None:
    assert without_skill(FORMS["cat with more after it"], SKILL) == f"{SHOWN_ABOVE}\ntotal 4\ninput.csv\n"


def test_twice_is_replaced_twice() -> None:
    assert without_skill(f"{SKILL}--\n{SKILL}", SKILL).count(SHOWN_ABOVE) == 2


def test_a_rule_that_is_quoted_stays() -> None:
    said = f"I follow this one:\n{RULES[3]}\nbecause the sheet is empty."
    assert without_skill(said, SKILL) == said


def test_a_short_skill_is_no_quotation() -> None:
    skill = "---\nname: one\ndescription: One rule.\n---\n\nCount the lines with wc.\n"
    assert without_skill("1\t---\n5\t\n6\tCount the lines with wc.\n", skill) == f"{SHOWN_ABOVE}\n"


@pytest.mark.parametrize("text", ["", "---\n\n---", "# Sheet\n- Rule 1", "a\nb\nc\n\n[… 40 characters left out …]\nd"])
def test_other_text_is_left_alone(text: str) -> None:
    assert without_skill(text, SKILL) == text


def test_without_a_skill_nothing_happens() -> None:
    assert without_skill(SKILL, "") == SKILL
    assert without_skill("plain\n\ntext", " \n") == "plain\n\ntext"
