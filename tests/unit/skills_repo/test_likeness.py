"""What counts as the same edit again: the same text, or a paraphrase at the same place."""

from __future__ import annotations

import pytest

from skills_repo.edits import Edit, EditLimits, Op, apply
from skills_repo.likeness import LIKE, Change, brings_back, changes, likeness, loose
from skills_repo.skill import Skill
from tests.support.paraphrases import DIFFERENT, SAME
from tests.support.skills import a_skill

START = a_skill("\n# Dates\n\n- Copy dates.\n\n# Sums\n\n- Add them up.\n")
LIMITS = EditLimits(None)


def made(skill: Skill, *edits: Edit) -> tuple[Change, ...]:
    applied = apply(skill, edits, LIMITS)
    assert len(applied.stages) == len(edits), applied.report
    return changes(skill, applied.result)


def below(anchor: str, text: str) -> Edit:
    return Edit(Op.INSERT_AFTER, target=anchor, content=text)


def test_the_threshold_tells_the_table_apart_as_well_as_it_is_said() -> None:
    """The documented confusion counts; another threshold is no better by more than a pair."""
    assert min(len(SAME), len(DIFFERENT)) >= 20

    def counts(threshold: float) -> tuple[int, int]:
        caught = sum(likeness(*pair) >= threshold for pair in SAME)
        return caught, sum(likeness(*pair) >= threshold for pair in DIFFERENT)

    caught, mistaken = counts(LIKE)
    assert (caught, len(SAME)) == (27, 32)
    assert (mistaken, len(DIFFERENT)) == (4, 32)
    others = [counts(step / 100) for step in range(30, 100)]
    assert max(right - wrong for right, wrong in others) - (caught - mistaken) <= 1


@pytest.mark.parametrize("pairs", [SAME, DIFFERENT])
def test_likeness_is_the_same_both_ways_and_whole_for_the_same_text(pairs: tuple[tuple[str, str], ...]) -> None:
    for one, other in pairs:
        assert likeness(one, other) == likeness(other, one)
        assert likeness(one, one.upper() + "  ") == 1.0


def test_short_texts_are_alike_only_word_for_word() -> None:
    assert likeness("- rule-a", "- rule-b") == 0.0
    assert likeness("- Be bold.", "* be BOLD") == 1.0
    assert likeness("- Be bold.", "- Be bold and quick.") == 0.0
    assert likeness("", "") == likeness("the", "of") == 0.0


@pytest.mark.parametrize("pair", [pair for pair in SAME if likeness(*pair) >= LIKE])
def test_a_paraphrase_at_the_same_place_comes_back(pair: tuple[str, str]) -> None:
    known, again = made(START, below("# Dates", f"- {pair[0]}")), made(START, below("- Copy dates.", f"- {pair[1]}"))
    assert brings_back(again, known), "another line of the same section"
    elsewhere = made(START, below("# Sums", f"- {pair[1]}"))
    assert not brings_back(elsewhere, known)


@pytest.mark.parametrize("pair", [pair for pair in DIFFERENT if likeness(*pair) < LIKE])
def test_another_rule_at_the_same_place_does_not(pair: tuple[str, str]) -> None:
    known, other = (made(START, below("# Dates", f"- {text}")) for text in pair)
    assert not brings_back(other, known)


def test_the_same_text_comes_back_anywhere_and_in_any_form() -> None:
    known = made(START, below("# Dates", "- Write dates as YYYY-MM-DD."))
    again = "-  write DATES as yyyy-mm-dd."
    ways = [
        below("# Sums", again),
        Edit(Op.APPEND, content=again),
        Edit(Op.REPLACE, target="- Add them up.", content=f"- Add them up.\n{again}"),
    ]
    for edit in ways:
        assert brings_back(made(START, edit), known), edit
    assert brings_back(loose("", again), known), "where it would go is not known"
    whole = apply(START, [Edit(Op.REWRITE, content=f"# New\n\n{again}")], EditLimits(1, also=frozenset({Op.REWRITE})))
    assert brings_back(changes(START, whole.result), known)


def test_a_replacement_that_was_taken_back_is_known_by_what_it_wrote() -> None:
    known = made(START, Edit(Op.REPLACE, target="- Copy dates.", content="- Write dates as YYYY-MM-DD, always."))
    again = below("- Copy dates.", "- Dates are always written as YYYY-MM-DD.")
    assert brings_back(made(START, again), known)
    assert not brings_back(made(START, Edit(Op.DELETE, target="- Copy dates.")), known)


def test_a_deletion_comes_back_if_it_takes_one_of_the_lines() -> None:
    known = made(START, Edit(Op.DELETE, target="- Copy dates.\n\n# Sums\n"))
    assert brings_back(made(START, Edit(Op.DELETE, target="- Copy dates.")), known)
    assert not brings_back(made(START, Edit(Op.DELETE, target="- Add them up.")), known)
    assert not brings_back(made(START, Edit(Op.REPLACE, target="- Copy dates.", content="- Read dates.")), known)


def test_appending_is_a_place_of_its_own_whatever_was_appended_since() -> None:
    known = made(START, Edit(Op.APPEND, content="- Round amounts to two decimals before you compare them."))
    grown = apply(START, [Edit(Op.APPEND, content="# More\n\n- Sort rows.")], LIMITS).result
    again = Edit(Op.APPEND, content="- Before comparing amounts, round them to 2 decimals.")
    assert brings_back(made(grown, again), known)


def test_part_of_what_was_taken_back_comes_back_but_not_by_a_line_among_many() -> None:
    known = made(START, below("# Dates", "- Write dates as YYYY-MM-DD.\n- Give times with a colon."))
    assert brings_back(made(START, below("# Dates", "- Give times with a colon.")), known)
    many = [f"- Rule about {word} and nothing else." for word in ("apples", "pears", "plums", "nuts", "figs", "limes")]
    mixed = below("# Sums", "\n".join([*many, "- Give times with a colon."]))
    assert not brings_back(made(START, mixed), known), "less than half of either"


def test_guidance_in_the_guarded_region_is_known_by_its_region() -> None:
    limits = EditLimits(1, also=frozenset({Op.SLOW_UPDATE}))

    def guided(skill: Skill, text: str) -> Skill:
        return apply(skill, [Edit(Op.SLOW_UPDATE, content=text)], limits).result

    known = changes(START, guided(START, "Read the task twice before you write anything."))
    later = guided(START, "Keep totals in euros.")
    again = guided(later, "Keep totals in euros.\nBefore writing anything, re-read the task twice.")
    assert brings_back(changes(START, guided(START, "Before writing anything, read the task twice.")), known)
    assert brings_back(changes(later, again), known)


def test_other_files_count_too_and_what_is_no_text_does_not() -> None:
    one, two = a_skill(references__a_md=b"x\n"), a_skill(references__a_md=b"x\n- A rule about dates.\n")
    assert [change.added for change in changes(one, two)] == [("- a rule about dates.",)]
    assert changes(a_skill(pic=b"\xff\x00"), a_skill(pic=b"\xff\x01")) == ()
    assert changes(one, one) == ()
