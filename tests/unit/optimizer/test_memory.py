"""The rejected-edit buffer: what it keeps, and for how long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from daemon.optimizer.decision import RolloutSummary, StepDecision
from daemon.optimizer.gates.verdict import TaskRow, Verdict
from daemon.optimizer.memory import GroupFigures, StepBuffer, by_group
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


def rows(*groups: tuple[str, float | None, float | None]) -> tuple[TaskRow, ...]:
    return tuple(
        TaskRow(f"selection-{i:02}", before, 1, after, 1, group=name) for i, (name, before, after) in enumerate(groups)
    )


def test_a_rejected_set_is_told_by_group_of_tasks_where_a_group_is_no_single_task() -> None:
    verdict = Verdict(
        "rejected",
        0.5,
        0.5,
        0.0,
        8,
        9,
        (),
        (),
        "rule",
        rows=rows(
            *[("sums", 1.0, 0.0), ("sums", 0.0, 0.0), ("sums", 0.5, 0.0), ("dates", 0.0, 1.0), ("dates", 0.0, 0.0)],
            *[("dates", 0.0, 0.5), ("names", 1.0, 0.0), ("names", 1.0, 0.0), ("names", None, 1.0), ("", 1.0, 1.0)],
        ),
    )
    [entry] = StepBuffer(1).after(decision(1, verdict=verdict)).entries
    assert entry.groups == (GroupFigures("dates", 3, 0.0, 0.5), GroupFigures("sums", 3, 0.5, 0.0))
    assert StepBuffer(1).after(decision(1, verdict=verdict)).without_groups.entries == (replace(entry, groups=()),)


def test_figures_by_group_are_weighed_like_the_score() -> None:
    three = rows(("sums", 1.0, 0.0), ("sums", 0.0, 0.0), ("sums", 0.0, 1.0))
    [figures] = by_group([replace(three[0], weight=2.0), *three[1:], replace(three[1], weight=0.0)])
    assert figures == GroupFigures("sums", 3, 0.5, 0.25)


def test_an_accepted_set_is_not_told_by_group() -> None:
    verdict = Verdict("accepted", 0.0, 1.0, 1.0, 3, 3, (), (), "rule", rows=rows(*[("sums", 0.0, 1.0)] * 3))
    assert StepBuffer(1).after(decision(1, "accepted", verdict=verdict)).entries[0].groups == ()


def test_the_buffer_is_the_same_out_of_the_journal() -> None:
    """Fault of a peer: the buffer was lost on resume."""
    made = [decision(1), decision(2, "accepted")]
    live = restored = StepBuffer(1)
    for row in made:
        live = live.after(row)
        restored = restored.after(StepDecision.model_validate(row.payload()))
    assert live == restored
    assert restored.entries[0].rejected
