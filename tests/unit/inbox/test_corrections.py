"""A person's objection is told from a further wish."""

from __future__ import annotations

import pytest

from daemon.inbox.corrections import cue_of


@pytest.mark.parametrize(
    ("said", "cue"),
    [
        ("No, the header must stay", "contradicted"),
        ("nope", "contradicted"),
        ("That's not what I asked for", "contradicted"),
        ("This is wrong", "contradicted"),
        ("not the first column, the second", "contradicted"),
        ("Don’t touch the tests!", "contradicted"),  # noqa: RUF001
        ("Why did you delete it?", "contradicted"),
        ("Nein, falsch", "contradicted"),
        ("Undo that", "asked to take it back"),
        ("please revert the last change", "asked to take it back"),
        ("It still fails with the same error", "said it still fails"),
        ("the test is still broken", "said it still fails"),
        ("this doesn't work", "said it still fails"),
        ("You forgot the footer", "said something was left out"),
        ("I said keep the header", "said it again"),
        ("as I said: keep it", "said it again"),
    ],
)
def test_objections(said: str, cue: str) -> None:
    assert cue_of(said) == cue


@pytest.mark.parametrize(
    "said",
    [
        "Now also count the words",
        "No problem, go on",
        "never mind",
        "Notes: please add a section",
        "northern column first",
        "ok",
        "continue",
        "yes",
        "/commit",
        "$tidy-tables do it",
        "Stopwatch support, please",
        "Thanks! Next: the second table",
        "That works. Now the docs",
        "",
        "   ",
    ],
)
def test_further_wishes(said: str) -> None:
    assert cue_of(said, ["Count the lines of the file", "ok", "continue", "/commit"]) == ""


def test_who_asks_the_same_again_was_not_served() -> None:
    earlier = ["Count the lines of input.csv and write them to answer.txt"]
    assert cue_of("count the lines of input.csv and write them to answer.txt!", earlier) == "asked the same again"
    assert cue_of("Count the words of other.csv and print them", earlier) == ""
    assert cue_of("do it now", ["do it now"]) == "", "too short to tell"


def test_huge_texts_are_read_at_their_beginning_alone() -> None:
    assert cue_of("no " * 1_000_000) == "contradicted"
    assert cue_of("x" * 1_000_000, ["x " * 500_000] * 5) == ""
