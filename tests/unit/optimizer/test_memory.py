"""The rejected-edit buffer: what it keeps, and for how long."""

from __future__ import annotations

from typing import Any

from daemon.optimizer.decision import RolloutSummary, StepDecision
from daemon.optimizer.gates.verdict import Verdict
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.replies import Pattern
from skills_repo.edits import AppliedEdit, Edit, EditStatus, Op

GUESS = Edit(Op.APPEND, content="Guess quickly.")
PATTERN = Pattern(type="wrong sheet", count=3, description="looked at the first sheet only")


def decision(step: int, outcome: Any = "rejected", epoch: int = 1, **fields: Any) -> StepDecision:
    fields = {
        "report": (AppliedEdit(GUESS, EditStatus.APPLIED), AppliedEdit(GUESS, EditStatus.NO_CHANGE)),
        "verdict": Verdict("rejected", 0.5, 0.25, -0.25, 4, 4, (), ("selection-07",), "rule"),
        "patterns": (PATTERN,),
        **fields,
    }
    return StepDecision(
        step=step,
        epoch=epoch,
        when=0.0,
        outcome=outcome,
        reason="",
        batches=(("a",),),
        rollout=RolloutSummary(),
        budget=4,
        base_digest="",
        **fields,
    )


def test_a_rejected_step_leaves_its_edits_its_drop_and_the_patterns_seen() -> None:
    [entry] = StepBuffer(1).after(decision(1)).entries
    assert (entry.step, entry.outcome, entry.before, entry.after) == (1, "rejected", 0.5, 0.25)
    assert entry.rejected == ({"op": "append", "target": "", "content": "Guess quickly."},)
    assert entry.patterns == ({"type": "wrong sheet", "count": 3, "description": PATTERN.description},)


def test_an_accepted_step_leaves_its_patterns_alone() -> None:
    buffer = StepBuffer(1).after(decision(1, "accepted"))
    assert buffer.entries[0].rejected == ()


def test_an_undecided_step_is_no_rejection() -> None:
    assert StepBuffer(1).after(decision(1, "indecisive")).entries[0].rejected == ()


def test_a_step_without_anything_to_remember_leaves_nothing() -> None:
    assert StepBuffer(1).after(decision(1, "nothing_to_learn", report=(), verdict=None, patterns=())).entries == ()


def test_a_new_epoch_starts_empty() -> None:
    buffer = StepBuffer(1).after(decision(1))
    assert buffer.at(1) == buffer
    assert buffer.at(2) == StepBuffer(2)
    assert [entry.step for entry in buffer.after(decision(2, epoch=2)).entries] == [2]


def test_no_selection_task_is_named_to_the_optimizer() -> None:
    assert "selection-07" not in repr(StepBuffer(1).after(decision(1)))


def test_the_buffer_is_the_same_out_of_the_journal() -> None:
    """Fault of a peer: the buffer was lost on resume."""
    made = [decision(1), decision(2, "accepted")]
    live = restored = StepBuffer(1)
    for row in made:
        live = live.after(row)
        restored = restored.after(StepDecision.model_validate(row.payload()))
    assert live == restored
    assert restored.entries[0].rejected
