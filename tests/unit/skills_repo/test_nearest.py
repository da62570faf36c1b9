"""What a missed target is told: the nearest place, never an edit at it."""

from __future__ import annotations

import time

import pytest

from skills_repo.edits import Edit, EditLimits, EditStatus, Op, apply
from skills_repo.nearest import nearest
from tests.support.skills import a_skill

BODY = '\n# Rules\n\n- don\'t guess  \n- say "yes"\n-\ttwo words\n  - deep\n- two words more\n\nend - of it\n'


def detail(target: str, body: str = BODY) -> str:
    [row] = apply(a_skill(body), [Edit(Op.REPLACE, target, "x")], EditLimits(1)).report.rows
    assert row.status in {EditStatus.TARGET_MISSING, EditStatus.TARGET_AMBIGUOUS}
    return row.detail


@pytest.mark.parametrize(
    ("target", "line", "reads"),
    [
        ("- don\u2019t guess", 8, "- don't guess  "),
        ("- say \u201cyes\u201d", 9, '- say "yes"'),
        ("- say \u00abyes\u00bb", 9, '- say "yes"'),
        ("- don't guess\n- say", 8, '- don\'t guess  \n- say "yes"'),
        ("guess\n- say", 8, '- don\'t guess  \n- say "yes"'),
        ('- Say "YES"', 9, '- say "yes"'),
        ("end \u2013 of it", 14, "end - of it"),
        ("end\u00a0- of it", 14, "end - of it"),
        ("    - deep", 11, "  - deep"),
        ("- two  words more", 12, "- two words more"),
    ],
)
def test_the_one_place_that_differs_only_in_white_space_quotes_dashes_or_case_is_named(
    target: str, line: int, reads: str
) -> None:
    assert detail(target) == f"the nearest place is line {line}, which reads «{reads}»"


@pytest.mark.parametrize("target", ["nowhere", "- don't guess at all", "- don't guess\n\n- say", "- \u2013 two", "***"])
def test_without_one_nothing_is_said_or_only_where_it_begins(target: str) -> None:
    assert "nearest" not in detail(target)


def test_the_first_line_of_a_longer_target_is_named_if_only_that_is_there() -> None:
    assert detail("- don't guess\n- never") == "only its line «- don't guess  » is in the skill, as line 8"


def test_two_places_as_near_are_not_guessed_between() -> None:
    assert detail("it\u2019s", "\nit's a\nit's b\n") == ""


def test_a_hint_is_never_an_edit() -> None:
    applied = apply(a_skill(BODY), [Edit(Op.DELETE, "- don\u2019t guess")], EditLimits(1))
    assert applied.result == a_skill(BODY)


def test_an_ambiguous_target_is_told_its_lines() -> None:
    assert detail("two words") == "it occurs 2 times, in lines 10, 12"
    assert detail("o", "\noo\n") == "it occurs 2 times, in line 6"
    assert detail("x", "\n" + "x\n" * 12).endswith("6, 7, 8, 9, 10, 11, 12, 13, …")


def test_long_places_are_shown_in_part() -> None:
    hint = nearest("x" * 5_000 + "  y\n", "x" * 5_000 + " y")
    assert len(hint) < 400
    assert "…" in hint


@pytest.mark.parametrize("target", ["\n", " \t\n", ""])
def test_blank_targets_have_no_nearest_place(target: str) -> None:
    assert nearest("a\n\nb\n", target) == ""


def test_hostile_sizes_take_no_time() -> None:
    started = time.process_time()
    nearest("a b\n" * 5_000, "a  b\n" * 2_000 + "c")
    nearest(" " * 20_000 + "x", " " * 20_000 + "y")
    assert time.process_time() - started < 20
