"""Every proposed edit has one fate, and the counts add up."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.optimizer.decision import RefusedEdit, RolloutSummary, StepDecision, StepOutcome
from daemon.optimizer.report import BeforeAfter, RunReport, edit_fates
from sandboxes.gateway.policy import Usage
from skills_repo.edits import AppliedEdit, Edit, EditStatus, Op

A, B, C, D = (Edit(Op.APPEND, content=name) for name in "abcd")


def step(outcome: StepOutcome, **fields: Any) -> StepDecision:
    fields = {
        "proposed": (A, B, C, D),
        "refused": (RefusedEdit(edit=D, reason="already tried"),),
        "chosen": (A, B),
        "report": (AppliedEdit(A, EditStatus.APPLIED), AppliedEdit(B, EditStatus.TARGET_AMBIGUOUS, "twice")),
        **fields,
    }
    return StepDecision(
        step=3,
        epoch=1,
        when=0.0,
        outcome=outcome,
        reason="because",
        batches=(("t",),),
        rollout=RolloutSummary(),
        budget=2,
        base_digest="",
        **fields,
    )


def fates(decision: StepDecision, *commits: str) -> dict[str, tuple[str, str, str]]:
    found = edit_fates([decision], {(3, "step"): commits})
    assert len(found) == len(decision.proposed)
    return {fate.edit.content: (fate.fate, fate.reason, fate.commit) for fate in found}


def test_every_fate_has_its_reason() -> None:
    assert fates(step("accepted"), "abc123") == {
        "a": ("accepted", "because", "abc123"),
        "b": ("skipped", "target_ambiguous: twice", ""),
        "c": ("not_chosen", "over the budget of 2, ranked lower", ""),
        "d": ("refused", "already tried", ""),
    }


@pytest.mark.parametrize(
    ("outcome", "fate"), [("rejected", "rejected"), ("indecisive", "undecided"), ("no_change", "skipped")]
)
def test_applied_edits_share_their_steps_verdict(outcome: StepOutcome, fate: str) -> None:
    assert fates(step(outcome))["a"] == (fate, "because", "")


def test_commits_go_to_the_applied_edits_in_order() -> None:
    report = (
        AppliedEdit(A, EditStatus.APPLIED),
        AppliedEdit(B, EditStatus.NO_CHANGE),
        AppliedEdit(C, EditStatus.APPLIED),
    )
    found = fates(step("accepted", proposed=(A, B, C), refused=(), chosen=(A, B, C), report=report), "one", "two")
    assert [found[name][2] for name in "abc"] == ["one", "", "two"]


def test_a_step_that_proposed_nothing_has_no_fates() -> None:
    assert edit_fates([step("no_edits", proposed=(), refused=(), chosen=(), report=())], {}) == ()


def test_counts() -> None:
    edits = edit_fates([step("accepted"), step("rejected")], {(3, "step"): ("x",)})
    report = RunReport(
        run_id="r",
        skill="s",
        resumed=False,
        ended="",
        failed=False,
        metric="hard",
        selection=BeforeAfter(None, None),
        test=BeforeAfter(None, None),
        steps=(),
        edits=edits,
        commits=("x",),
        base_commit="b",
        best_digest="",
        current_is_best=True,
        target_usage=Usage(),
        optimizer_usage=Usage(),
        attempts=0,
        invalid=0,
        wall_s=0.0,
    )
    assert (report.proposed, report.accepted, report.rejected) == (8, 1, 3)
    assert report.count("skipped", "not_chosen") == 4
