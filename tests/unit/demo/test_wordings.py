"""What a prompt says is what is read from it."""

from __future__ import annotations

import dataclasses
import random
import re

import pytest

from daemon.demo.puzzles import Plan, make
from daemon.demo.wordings import Kind, read_request, render

KINDS = list(Kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("formula", [False, True])
def test_a_rendered_request_reads_back(kind: Kind, formula: bool) -> None:
    for seed in range(12):
        traps = ("gap", "formula") if formula else ("gap",)
        request = make(Plan(kind, traps), random.Random(seed)).request
        assert request.formula is formula
        for variant in range(6):
            assert read_request(render(request, variant)) == request


@pytest.mark.parametrize("kind", KINDS)
def test_line_breaks_and_text_around_do_not_matter(kind: Kind) -> None:
    request = make(Plan(kind, ("formula",)), random.Random(3)).request
    prompt = render(request, 1)
    wrapped = re.sub(r"(\S+ \S+ \S+) ", r"\1\n", prompt)
    assert wrapped != prompt
    assert read_request(f"<command-args>{wrapped}</command-args>\nARGUMENTS: {wrapped}") == request


def test_wordings_differ() -> None:
    request = make(Plan(Kind.TOTAL), random.Random(0)).request
    assert len({render(request, variant) for variant in range(3)}) == 3


def test_the_word_formula_elsewhere_is_no_wish_for_one() -> None:
    request = make(Plan(Kind.COUNT), random.Random(0)).request
    text = f"# Skill\n- Never write formulas.\n\n{render(request, 0)} The end. Formulas are not mentioned here."
    found = read_request(text)
    assert found is not None
    assert found == dataclasses.replace(request, formula=False)


@pytest.mark.parametrize("text", ["", "Write a poem about orders.xlsx.", "In a.xlsx, fill B2:B9 with joy."])
def test_other_prompts_are_not_understood(text: str) -> None:
    assert read_request(text) is None
