"""Hostile texts: as long as a model or a trace may make them, and bent on being slow or unseen."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.optimizer.firewall import WITHHELD, Firewall
from daemon.optimizer.firewall.own import cut
from daemon.optimizer.firewall.words import clean, plain_number, split
from daemon.tasks.task import TaskSet
from tests.unit.optimizer.firewall.world import SKILL, firewall, make_task, task

MIB = 1_000_000
LONG = 30_000
BAD = {
    "one word": "a",
    "numbers": "1,",
    "quotes": '"',
    "brackets": "[",
    "signs": "== ",
    "carets": "^a",
    "escapes": "\\d",
    "cues": "expected is was ",
    "cue and spaces": "expected" + " " * 5_000,
    "piled accents": "\u0301\u0323",
    "zero width": "\u200b",
    "wide": "漢字",
    "joined": "a_b-",
    "capitals": "A-",
    "names": "Abc and ",
    "lines": "expected: 4\n",
}
SECONDS = 30.0
"""On a slow and busy machine; a pass that is quadratic takes a minute for `LONG` and hours for `MIB`."""


@pytest.mark.parametrize("piece", BAD.values(), ids=BAD)
def test_a_long_text_takes_time_in_proportion(piece: str) -> None:
    text = (piece * (LONG // len(piece) + 1))[:LONG]
    start = time.process_time()
    firewall().outgoing(text, task("ship"))
    firewall().text(text, SKILL)
    Firewall.of(TaskSet((make_task("t", prompt=text, answer=text),), Path()))
    assert time.process_time() - start < SECONDS


def test_a_million_characters_of_prose_are_searched_to_their_end() -> None:
    text = "the rows of the table are read and written back one by one; " * (MIB // 60) + "It is Port Alder."
    start = time.process_time()
    assert firewall().outgoing(text, task("ship")).endswith(f"It is {WITHHELD}.")
    assert time.process_time() - start < SECONDS


HIDDEN = ("\u200b", "\u00ad", "\u2060", "\ufeff", "\u202e", "\ufe0f", "\u0301")


@given(
    st.lists(st.sampled_from(["", *HIDDEN]), min_size=10, max_size=10), st.sampled_from([" ", "  ", "\n", "-", "_", ""])
)
def test_hidden_characters_hide_no_answer(hidden: list[str], gap: str) -> None:
    letters = "".join(letter + sign for letter, sign in zip(f"Port{gap}Alder", itertools.cycle(hidden), strict=False))
    assert firewall().text(f"- Say {letters} now.", SKILL) == "carries a gold answer"
    assert "lder" not in clean(firewall().outgoing(f"It is {letters} now.", task("ship")))


@given(st.text(max_size=300))
def test_any_text_is_judged_and_cut_without_an_error(text: str) -> None:
    out = firewall().outgoing(text, task("ship"))
    assert out == text or WITHHELD in out
    assert firewall().text(text, SKILL).count("\n") == 0


@given(st.text(max_size=200))
def test_cutting_twice_cuts_nothing_more_of_the_answer(text: str) -> None:
    once = firewall().outgoing(f"{text} Port Alder {text}", task("ship"), "agent")
    assert "Port Alder" not in once
    assert firewall().outgoing(once, task("ship"), "agent") == once


@given(st.integers(1_000, 10**12), st.integers(0, 999))
def test_a_number_is_the_same_however_it_is_grouped(whole: int, thousandths: int) -> None:
    plain = plain_number(f"{whole}.{thousandths:03}")
    assert plain_number(f"{whole:,}.{thousandths:03}") == plain
    assert plain_number(f"{whole:,}".replace(",", ".") + f",{thousandths:03}") == plain or whole < 10**3
    assert split(f"{whole:,}").words == (str(whole),)


@given(st.text(max_size=60), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6))
def test_a_cut_leaves_what_no_place_covers(text: str, places: list[tuple[int, int]]) -> None:
    spans = [(min(a, len(text)), min(b, len(text))) for a, b in places if min(a, len(text)) < min(b, len(text))]
    covered = {at for start, end in spans for at in range(start, end)}
    left = "".join(char for at, char in enumerate(text) if at not in covered)
    assert cut(text, spans).replace(WITHHELD, "") == left.replace(WITHHELD, "")
