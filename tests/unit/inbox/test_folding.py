"""Turns come to incidents: what went wrong, once each, attributed to what the agent had opened by then."""

from __future__ import annotations

from daemon.inbox.folding import Folding
from daemon.inbox.record import EXAMPLE_CHARS, MOST_INCIDENTS
from harnesses.traces.session import Turn
from harnesses.traces.trace import Message, Trace
from tests.support.sessions import call, turn


def folded(*turns: Turn, live: bool = False) -> Folding:
    fold = Folding()
    for number, one in enumerate(turns, start=1):
        fold.add(one, last_of_live=live and number == len(turns))
    return fold


def names(fold: Folding) -> list[tuple[str, str, int, int]]:
    return [(one.kind, one.label, one.turn, one.count) for one in fold.incidents]


def test_a_correction_is_about_the_turn_before() -> None:
    fold = folded(turn("Tidy it", opened=("tidy",)), turn("No, wrong", opened=("tidy", "late")))
    [one] = fold.incidents
    assert (one.kind, one.turn, one.example, one.asked, one.skills) == (
        "correction",
        1,
        "No, wrong",
        "Tidy it",
        ("tidy",),
    )
    assert fold.asked == "Tidy it"


def test_nobody_corrects_what_was_never_done() -> None:
    assert names(folded(turn("No, wrong"))) == []
    broken = Turn("Tidy it", turn().trace, "broken")
    assert names(folded(broken, turn("No, try again"))) == []


def test_failed_calls_are_counted_under_one_name() -> None:
    calls = [call("python3 a.py", "ValueError: 1", ok=False), call("python3 b.py", "ValueError: 2", ok=False)]
    fold = folded(turn("x", *calls), turn("y", calls[0]))
    assert [row for row in names(fold) if row[0] == "error"] == [("error", "python3: ValueError", 1, 3)]
    assert fold.calls == 3
    assert fold.incidents[0].example == "python3 a.py\n> ValueError: 1"


def test_the_same_call_with_the_same_result_is_a_repetition_and_a_test_run_after_edits_is_none() -> None:
    same = [call("make", "error", ok=False, code=2)] * 3
    assert ("repeated", "make: the same call with the same result", 1, 1) in names(folded(turn("x", *same)))
    other = [call("make", f"{number} left", ok=False, code=2) for number in range(5)]
    assert [row for row in names(folded(turn("x", *other))) if row[0] == "repeated"] == []
    assert [row for row in names(folded(*[turn("x", same[0])] * 3)) if row[0] == "repeated"] == [], "turn by turn"


def test_how_a_turn_was_given_up() -> None:
    stopped = turn("x", call("ls"), ending="interrupted")
    silent = turn("y", call("ls"), ending="silent")
    nothing = Turn("z", Trace(), "silent")
    assert names(folded(stopped, silent, nothing)) == [
        ("abandoned", "stopped by the person", 1, 1),
        ("abandoned", "ended without an answer", 2, 1),
        ("abandoned", "nothing was done", 3, 1),
    ]
    for ending in ("steered", "broken", "answered"):
        assert names(folded(turn("x", call("ls"), ending=ending))) == []


def test_the_last_turn_of_a_session_that_goes_on_is_not_given_up() -> None:
    silent = turn("y", call("ls"), ending="silent")
    assert names(folded(silent, live=True)) == []
    assert len(names(folded(silent, turn("z"), live=True))) == 1


def test_a_refused_step_is_a_correction() -> None:
    assert names(folded(turn("x", denials=("use wc", "no rm")))) == [("correction", "refused a step", 1, 2)]


def test_what_is_kept_is_bounded() -> None:
    calls = [call("{}", f"failure {'abcdefghij'[n % 10] * (n + 1)}", ok=False, tool="T") for n in range(500)]
    fold = folded(turn("p" * 50_000, *calls), turn("No " + "x" * 50_000, Message("m")))
    assert len(fold.incidents) == MOST_INCIDENTS
    assert all(len(one.example) <= EXAMPLE_CHARS + 60 for one in fold.incidents)
    assert len(fold.asked) < 2_000
