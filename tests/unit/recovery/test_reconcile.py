"""The table of cases: what was left, and what follows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from daemon.recovery.reconcile import (
    Abandon,
    Accepted,
    Action,
    Collect,
    CompleteCommit,
    DropCommit,
    EndRun,
    Evidence,
    Leftover,
    NoteCommits,
    OpenRun,
    Remove,
    RemoveBox,
    Seen,
    reconcile,
    together,
)
from sandboxes.left import LeftBox

A, D, U = Evidence.ALIVE, Evidence.DEAD, Evidence.UNKNOWN
NOW = 1000.0


def box(
    attempt: str = "a", *, ours: bool = True, running: bool | None = True, deadline: float | None = 2000
) -> LeftBox:
    return LeftBox(f"box-{attempt}", attempt, ours=ours, running=running, deadline=deadline)


ENDED = box(running=False)


def seen(**parts: object) -> Seen:
    return replace(Seen(NOW), **parts)  # type: ignore[arg-type]


def named(actions: tuple[Action, ...]) -> list[str]:
    """Actions without their reasons."""
    return [f"{type(one).__name__} {next(iter(vars(one).values()))}" for one in actions]


GONE, GOT = ([f"{what} a", "RemoveBox box-a"] for what in ("Abandon", "Collect"))
CASES: list[tuple[str, Seen, list[str]]] = [
    ("nothing is left", seen(), []),
    # attempts x boxes
    ("begun, no box", seen(planned=("a",)), ["Abandon a"]),
    ("begun, its box runs on", seen(planned=("a",), boxes=(box(),)), GONE),
    ("begun, its box ended by itself", seen(planned=("a",), boxes=(ENDED,)), GONE),
    ("begun, nobody knows of its box", seen(planned=("a",), boxes=(box(running=None),)), GONE),
    ("begun, the engine is silent", seen(planned=("a",), boxes=None), ["Abandon a"]),
    ("ended, no box", seen(planned=("a",), receipts={"a": "k"}), ["Collect a"]),
    ("ended, a box is left", seen(planned=("a",), receipts={"a": "k"}, boxes=(box(),)), GOT),
    ("ended, the engine is silent", seen(planned=("a",), receipts={"a": "k"}, boxes=None), ["Collect a"]),
    ("two of one content ended", seen(planned=("a", "b"), receipts={"a": "k", "b": "k"}), ["Collect a", "Abandon b"]),
    ("two of two contents ended", seen(planned=("a", "b"), receipts={"a": "k", "b": "l"}), ["Collect a", "Collect b"]),
    ("ended, its run too", seen(planned=("a",), receipts={"a": "k"}, stale=frozenset("a")), ["Abandon a"]),
    (
        "ended, its run too, and an equal one of a run that goes on",
        seen(planned=("a", "b"), receipts={"a": "k", "b": "k"}, stale=frozenset("a")),
        ["Abandon a", "Collect b"],
    ),
    ("finished in the journal, box left", seen(boxes=(ENDED,)), ["RemoveBox box-a"]),
    ("finished in the journal, receipt left", seen(receipts={"a": "k"}), []),
    ("a box without an attempt's label", seen(boxes=(box(""),)), ["RemoveBox box-"]),
    # boxes of others
    ("another's box in time", seen(boxes=(box(ours=False),)), []),
    ("another's box past its deadline", seen(boxes=(box(ours=False, deadline=999),)), ["RemoveBox box-a"]),
    ("another's box without a deadline", seen(boxes=(box(ours=False, deadline=None),)), []),
    # runs
    ("an evaluation was cut off", seen(runs=(OpenRun("e1", trains=False),)), ["EndRun e1"]),
    ("a training was cut off", seen(runs=(OpenRun("r1", trains=True),)), []),
    # commits: noted in the journal x on the branch
    ("committed and noted", seen(accepted=(Accepted("r", 1, "step", True, ("c",)),)), []),
    ("committed, not noted", seen(accepted=(Accepted("r", 1, "step", False, ("c", "d")),)), ["NoteCommits r"]),
    ("decided, not committed", seen(accepted=(Accepted("r", 1, "step", False, ()),)), ["CompleteCommit r"]),
    ("noted, taken off", seen(accepted=(Accepted("r", 1, "step", True, ()),)), ["DropCommit r"]),
    ("noted, no repository", seen(accepted=(Accepted("r", 1, "step", True, None),)), []),
    ("not noted, no repository", seen(accepted=(Accepted("r", 1, "step", False, None),)), []),
    # scratch
    ("scratch of a dead one", seen(leftovers=(Leftover(Path("s"), D),)), ["Remove s"]),
    ("scratch of a living one", seen(leftovers=(Leftover(Path("s"), A),)), []),
    ("scratch of nobody knows whom", seen(leftovers=(Leftover(Path("s"), U),)), []),
]


@pytest.mark.parametrize(("sight", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_follows(sight: Seen, expected: list[str]) -> None:
    assert named(reconcile(sight)) == expected


@pytest.mark.parametrize(
    ("evidence", "sure"),
    [((A,), A), ((D,), D), ((U,), U), ((A, U), A), ((U, D), D), ((A, D), D), ((U, U), U), ((), U), ((A, U, D), D)],
)
def test_dead_beats_all_and_alive_beats_unknown(evidence: tuple[Evidence, ...], sure: Evidence) -> None:
    assert together(*evidence) is sure
    assert together(*reversed(evidence)) is sure


def after(sight: Seen) -> Seen:
    """The world once every action is carried out."""
    done = reconcile(sight)
    ended = {one.attempt_id for one in done if isinstance(one, Abandon)}
    gone = {one.name for one in done if isinstance(one, RemoveBox)}
    noted = {(one.run_id, one.step, one.phase) for one in done if isinstance(one, NoteCommits)}
    over = {one.run_id for one in done if isinstance(one, EndRun)}
    paths = {one.path for one in done if isinstance(one, Remove)}
    return replace(
        sight,
        planned=tuple(one for one in sight.planned if one not in ended),
        boxes=None if sight.boxes is None else tuple(one for one in sight.boxes if one.name not in gone),
        accepted=tuple(
            replace(one, noted=one.noted or (one.run_id, one.step, one.phase) in noted) for one in sight.accepted
        ),
        runs=tuple(one for one in sight.runs if one.run_id not in over),
        leftovers=tuple(one for one in sight.leftovers if one.path not in paths),
    )


WORLDS = [
    seen(planned=planned, receipts=receipts, boxes=boxes, accepted=(accepted,), runs=(OpenRun("e", False),))
    for planned, receipts, boxes, accepted in product(
        [(), ("a",), ("a", "b")],
        [{}, {"a": "k"}, {"a": "k", "b": "k"}],
        [None, (), (box(),), (box(running=False), box("b", running=None), box("c", ours=False, deadline=1))],
        [Accepted("r", 1, "step", noted, commits) for noted, commits in product([True, False], [None, (), ("c",)])],
    )
]


def test_once_is_enough_and_only_what_waits_is_left() -> None:
    """Whatever was left: what is done again changes nothing, and every begun attempt has come to one end."""
    waits = (Collect, CompleteCommit, DropCommit)
    for sight in WORLDS:
        first, second = reconcile(sight), reconcile(after(sight))
        assert second == tuple(one for one in first if isinstance(one, waits)), sight
        ends = [one.attempt_id for one in first if isinstance(one, Collect | Abandon)]
        assert sorted(ends) == sorted(sight.planned), sight
        assert len({one.key for one in first if isinstance(one, Collect)}) == len(
            [one for one in first if isinstance(one, Collect)]
        )


def test_rows_are_moved_before_the_evidence_is_removed() -> None:
    for sight in WORLDS:
        kinds = [isinstance(one, RemoveBox | Remove) for one in reconcile(sight)]
        assert kinds == sorted(kinds)


def test_reasons_tell_why_what_ran_on_cannot_be_taken_up_again() -> None:
    running, ended = box(), box(running=False)
    for boxes, words in (
        ((running,), "what its box printed since, and what its door counted, are lost"),
        ((ended,), "what it printed and what its door saw are lost"),
        ((running, replace(ended, name="verifier")), "what it printed and what its door saw are lost"),
        ((), "before it ended"),
        (None, "does not tell"),
    ):
        abandon = reconcile(seen(planned=("a",), boxes=boxes))[0]
        assert isinstance(abandon, Abandon)
        assert words in abandon.why
