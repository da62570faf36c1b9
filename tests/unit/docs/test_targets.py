"""What the documents tell one to run is there: make's targets, the suites' options, the headings that links lead to."""

from __future__ import annotations

import re
import shlex
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import __main__ as faults
from tests.fuzz import __main__ as fuzz
from tests.hostile import __main__ as hostile

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
SUITES: dict[str, Callable[[], ArgumentParser]] = {
    "faults": faults.parser,
    "fuzz": fuzz.parser,
    "hostile": hostile.parser,
}


def slugs(text: str) -> set[str]:
    """The names that a page's headings have in links."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_no_target_is_taken_for_a_file() -> None:
    [phony] = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert set(phony.split()) == TARGETS


def test_every_target_is_told_to_who_works_on_it() -> None:
    told = set(re.findall(r"`make ([a-z-]+)`", (ROOT / "CONTRIBUTING.md").read_text("utf-8")))
    assert TARGETS - told == set()


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_targets_that_are_named_exist(file: Path) -> None:
    text = file.read_text("utf-8")
    fenced = "".join(re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    named = {*re.findall(r"`make ([a-z-]+)", text), *re.findall(r"^make ([a-z-]+)", fenced, re.MULTILINE)}
    assert named - TARGETS == set()


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_the_suites_take_what_is_told_to_them(file: Path) -> None:
    for suite, words in re.findall(r"python -m tests\.(\w+)([^`#\n]*)", file.read_text("utf-8")):
        if suite in SUITES:
            known = SUITES[suite]().parse_args(shlex.split(words.replace(" N", " 1").replace(" S", " 1")))
            assert known is not None


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_links_lead_to_headings(file: Path) -> None:
    for page, heading in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", file.read_text("utf-8")):
        there = (file.parent / page) if page else file
        assert heading in slugs(there.read_text("utf-8")), f"{page}#{heading}"
