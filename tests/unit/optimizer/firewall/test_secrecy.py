"""The firewall knows the sealed split, and gives nothing of it away."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path

import pytest
import structlog

from daemon.optimizer.firewall import Firewall
from daemon.optimizer.firewall.words import split
from daemon.tasks.task import TaskSet
from skills_repo.edits import Edit, Op
from tests.unit.optimizer.firewall.samples import LEAKING
from tests.unit.optimizer.firewall.world import HELD_TEXT, LONG_GOLD, SKILL, firewall, make_task, task, tasks

HELD = [one for one in tasks().tasks if one.split != "train"]


def runs(text: str, size: int = 4) -> set[str]:
    words = split(text).words
    return {" ".join(words[at : at + size]) for at in range(len(words) - size + 1)}


def test_no_reason_repeats_a_word_of_held_out_text_or_gold() -> None:
    leaks = [*(content for content, _ in LEAKING), *(f"- {one.prompt}" for one in HELD), HELD_TEXT, LONG_GOLD]
    reasons = {firewall().text(leak, SKILL) for leak in leaks}
    secret = {"alder", "vandermeer", "88213.75", "sparrow", "lindqvist", "quennell", "7719345", "brewery", "valves"}
    secret |= {"register", "lock", "solvents", "thornbury", "kestrel-[0-9]", "parcel"}
    for reason in reasons:
        assert not [word for word in secret if word in reason.casefold()], reason
        if "held-out" in reason:
            assert '"' not in reason


def test_a_name_that_train_and_test_share_is_not_shown() -> None:
    both = (
        make_task("a", "train", prompt="Ask Quellmark about it.", answer="x"),
        make_task("b", "test", prompt="Then ask Quellmark again.", answer="y"),
        *(make_task(f"t{n:03}", "train", prompt=f"Say {n}.", answer=str(n)) for n in range(120)),
    )
    assert Firewall.of(TaskSet(both, Path())).text("Write to Quellmark.", SKILL) == "names a name of a held-out task"


def test_nothing_of_it_is_shown_by_its_repr() -> None:
    guard = firewall()
    guard.outgoing("x", task("ship"))
    assert repr(guard) == "Firewall()"


def test_nothing_is_logged_or_printed(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with structlog.testing.capture_logs() as logged, caplog.at_level(logging.DEBUG):
        guard = Firewall.of(tasks())
        for content, _ in LEAKING:
            guard.edit(Edit(Op.APPEND, content=content), SKILL)
            guard.outgoing(content, task("ship"))
    assert logged == []
    assert caplog.records == []
    assert capsys.readouterr() == ("", "")


def test_what_goes_out_holds_no_run_of_held_out_text() -> None:
    for held in HELD:
        text = f"The checker said: {held.prompt} {HELD_TEXT} Do it again."
        for speaker in ("scorer", "agent"):
            out = firewall().outgoing(text, task("ship"), speaker)  # type: ignore[arg-type]
            family = set().union(*(runs(one.prompt) for one in tasks().split("train")))
            assert not runs(out) & (runs(HELD_TEXT) | runs(held.prompt)) - family - runs("said the checker do it again")


def test_the_same_set_gives_the_same_firewall_in_another_order() -> None:
    turned = TaskSet(tuple(reversed(tasks().tasks)), tasks().source)
    one, other = firewall(), Firewall.of(turned)
    for content, _ in LEAKING:
        assert one.text(content, SKILL) == other.text(content, SKILL)


def test_a_set_with_no_tasks_lets_everything_pass() -> None:
    empty = Firewall.of(TaskSet((), Path()))
    assert empty.text("Anything at all, even the names of eight or more words.", SKILL) == ""
    assert empty.outgoing("Port Stanley", make_task("x", answer="Port Alder")) == "Port Stanley"


def test_its_own_gold_is_found_for_a_task_that_is_not_of_the_set() -> None:
    empty = Firewall.of(TaskSet((), Path()))
    assert empty.outgoing("It is Port Alder.", make_task("x", answer="Port Alder")) == "It is [withheld]."


def test_the_index_is_never_part_of_what_is_kept() -> None:
    """A decision that held a firewall would write the sealed split into the journal."""
    assert not hasattr(firewall(), "model_dump")
    assert b"brewery" not in pickle.dumps(repr(firewall()))
