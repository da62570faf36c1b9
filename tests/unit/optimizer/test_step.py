"""One step's ways out, each with its name and its sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from daemon.config_train import TrainSection
from daemon.optimizer.decision import StepDecision
from daemon.optimizer.report import RunReport
from harnesses.models.client import ModelRequest
from harnesses.outcome import Outcome
from tests.support.optimizer import (
    Replier,
    ScriptedOptimizer,
    World,
    WorldHarness,
    edit,
    make_skill,
    reflection,
    section,
    sensible,
    task_set,
)


def world(folder: Path, reply: Replier = sensible, **train: Any) -> World:
    """Two train and four selection tasks; each needs rule-a, train-01 also rule-b."""
    tasks = task_set(2, 4, 0)
    needs = {task.id: ["rule-a"] for task in tasks.tasks} | {"train-01": ["rule-a", "rule-b"]}
    knobs = TrainSection(
        **{"gate": "strict", "epochs": 1, "batch": 2, "minibatch": 4, "edit_budget": 2, "min_edit_budget": 1, **train}
    )
    return World(folder, WorldHarness(needs), tasks, ScriptedOptimizer(reply), train=knobs)


def proposing(*edits: dict[str, Any]) -> Replier:
    """Proposes the same whatever it is shown; merging and ranking are sensible."""

    def reply(request: ModelRequest) -> dict[str, Any]:
        return reflection(*edits) if request.schema_name.startswith("reflect") else sensible(request)

    return reply


async def run(made: World) -> tuple[StepDecision, RunReport]:
    report = await made.training().run()
    return report.steps[0], report


async def test_accepted(tmp_path: Path) -> None:
    step, report = await run(world(tmp_path))
    assert step.outcome == "accepted"
    assert step.reason.startswith("hard 0.000 -> 1.000 on 4 of 4 tasks: strictly better; fixed selection-00")
    assert len(report.commits) == len(step.applied) == 2
    assert step.rollout.model_dump() == {
        "asked": 2,
        "valid": 2,
        "solved": 0,
        "hard": 0.0,
        "soft": 0.0,
        "invalid": (),
    }


async def test_rejected_leaves_no_commit_and_says_why(tmp_path: Path) -> None:
    step, report = await run(world(tmp_path, proposing(edit("- useless"))))
    assert (step.outcome, report.commits) == ("rejected", ())
    assert "tie" in step.reason
    [fate] = report.edits
    assert (fate.fate, fate.reason) == ("rejected", step.reason)


async def test_nothing_to_learn_asks_nobody(tmp_path: Path) -> None:
    """Fault of a peer: success analysts at 100 percent."""
    made = world(tmp_path)
    made.harness.needs = {"selection-00": ["rule-a"]}
    step, _ = await run(made)
    assert (step.outcome, step.reason) == ("nothing_to_learn", "all 2 valid attempts solved their task")
    assert made.client.requests == []


async def test_no_valid_attempts_asks_nobody(tmp_path: Path) -> None:
    made = world(tmp_path)
    made.harness.failures = {f"train-0{i}": [Outcome.OUT_OF_MEMORY] * 9 for i in range(2)}
    step, report = await run(made)
    assert step.outcome == "no_valid_attempts"
    assert step.reason == "none of 2 attempts is valid: train-00: out_of_memory"
    assert made.client.requests == []
    assert report.invalid == 6


async def test_invalid_attempts_are_not_shown(tmp_path: Path) -> None:
    made = world(tmp_path)
    made.harness.failures = {"train-00": [Outcome.OUT_OF_MEMORY] * 9}
    step, _ = await run(made)
    assert step.rollout.invalid == ("train-00: out_of_memory",)
    [request] = made.client.requests
    assert "train-00" not in request.messages[0].content


async def test_no_edits(tmp_path: Path) -> None:
    step, _ = await run(world(tmp_path, proposing()))
    assert (step.outcome, step.reason) == ("no_edits", "the optimizer proposed no edit")


async def test_a_merge_that_drops_everything_is_no_edits(tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name == "merge":
            return {"reasoning": "", "edits": []}
        return reflection(edit("- x"))

    step, _ = await run(world(tmp_path, reply, minibatch=1))
    assert (step.outcome, step.reason) == ("no_edits", "merging left no edit")


async def test_all_replies_bad_is_the_optimizers_error_not_a_rejection(tmp_path: Path) -> None:
    """Fault of a peer: an optimizer that fails is swallowed."""
    step, report = await run(world(tmp_path, lambda _: "nonsense", minibatch=1))
    assert step.outcome == "optimizer_error"
    assert "no usable reflect_failures reply" in step.reason
    assert len(step.notes) == 2
    assert (report.accepted, report.rejected) == (0, 0)
    assert step.optimizer_usage.requests == 4


async def test_one_bad_reply_is_noted_and_the_step_goes_on(tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> dict[str, Any] | str:
        return "nonsense" if 'task="train-01"' in request.messages[0].content else sensible(request)

    step, _ = await run(world(tmp_path, reply, minibatch=1))
    assert step.outcome == "accepted"
    assert len(step.notes) == 1


async def test_edits_that_change_nothing_never_reach_the_gate(tmp_path: Path) -> None:
    """Fault of a peer: a patch of nothing is still evaluated."""
    made = world(tmp_path, proposing(edit("- old", op="replace", target="- old")))
    made.skill = make_skill("- old")
    made.__post_init__()
    step, report = await run(made)
    assert step.outcome == "no_change"
    assert step.reason == "every proposed edit was refused: it changes nothing"
    assert [fate.fate for fate in report.edits] == ["refused"]
    assert len(made.harness.runs) == 6  # the baseline and the batch


async def test_an_edit_that_carries_a_credential_is_refused(tmp_path: Path) -> None:
    leaky, plain = edit(f"- rule-a, with key ghp_{'A' * 36}"), edit("- rule-a")
    step, _ = await run(world(tmp_path, proposing(leaky, plain)))
    assert [row.reason for row in step.refused] == ["it carries a credential"]
    assert [one.content for one in step.applied] == ["- rule-a"]


async def test_edits_that_miss_their_anchor_are_said_and_never_reach_the_gate(tmp_path: Path) -> None:
    """Fault of a peer: a missed insert_after silently became an append."""
    made = world(tmp_path, proposing(edit("- x", op="insert_after", target="not there")))
    step, report = await run(made)
    assert step.outcome == "no_change"
    assert "target_missing" in step.reason
    assert [(fate.fate, fate.reason) for fate in report.edits] == [("skipped", "target_missing")]
    assert len(made.harness.runs) == 6


async def test_edits_that_undo_each_other_never_reach_the_gate(tmp_path: Path) -> None:
    made = world(tmp_path, proposing(edit("- x"), edit("", op="delete", target="\n- x\n")))
    step, report = await run(made)
    assert (step.outcome, len(step.applied)) == ("no_change", 2)
    assert step.reason == "the edits leave the skill as it is: they cancel out"
    assert {fate.fate for fate in report.edits} == {"skipped"}
    assert len(made.harness.runs) == 6


async def test_what_was_rejected_on_the_same_skill_is_not_tried_again(tmp_path: Path) -> None:
    """Fault of a peer: a dead buffer."""
    made = world(tmp_path, proposing(edit("- useless")), batch=1)
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["rejected", "no_change"]
    assert report.steps[1].refused[0].reason == "already tried on this skill and rejected in this run"
    assert "already tried on this skill" in report.steps[1].reason


async def test_in_the_papers_mode_the_buffer_informs_and_refuses_nothing(tmp_path: Path) -> None:
    made = world(tmp_path, proposing(edit("- useless")), mode="paper", epochs=2)
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["rejected", "rejected"]


async def test_an_innocent_edit_of_a_rejected_set_may_be_tried_alone(tmp_path: Path) -> None:
    """What was judged is the set: `- rule-a` helps, and fails only beside what breaks all tasks."""
    replies = iter([[edit("- rule-a"), edit("- harm")], [edit("- rule-a")]])

    def reply(request: ModelRequest) -> Any:
        return reflection(*next(replies)) if request.schema_name == "reflect_failures" else sensible(request)

    made = world(tmp_path, reply, batch=1)
    made.harness.breaks = {f"selection-0{i}": ["- harm"] for i in range(4)}
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["rejected", "accepted"]


async def test_later_reflections_read_what_was_rejected_and_its_cost(tmp_path: Path) -> None:
    made = world(tmp_path, proposing(edit("- harm")), batch=1)
    made.harness.needs = {task_id: [] for task_id in made.harness.needs} | {
        "train-00": ["rule-q"],
        "train-01": ["rule-q"],
    }
    made.harness.breaks = {"selection-01": ["- harm"]}
    made.harness.needs["selection-00"] = ["rule-q"]
    await made.training().run()
    earlier = section(made.client.asked("reflect_failures")[1], "earlier_steps")
    assert "Step 1: rejected. Score on 4 held-out tasks 0.750 -> 0.500 (drop 0.250)." in earlier
    assert '{"op": "append", "target": "", "content": "- harm"}' in earlier


async def test_too_little_valid_coverage_at_the_gate_decides_nothing(tmp_path: Path) -> None:
    made = world(tmp_path)
    plain = made.harness.run

    async def flaky(assignment: Any) -> Any:
        if assignment.task_id in {"selection-00", "selection-01"} and "rule-a" in assignment.skill.text:
            made.harness.failures[assignment.task_id] = [Outcome.OUT_OF_MEMORY]
        return await plain(assignment)

    made.harness.run = flaky  # type: ignore[method-assign]
    step, report = await run(made)
    assert step.outcome == "indecisive"
    assert "of 4 tasks are valid under both skills, 4 are needed: nothing decided" in step.reason
    assert report.commits == ()
    assert {fate.fate for fate in report.edits} == {"undecided"}
    assert (report.accepted, report.rejected) == (0, 0)


async def test_more_edits_than_the_budget_are_ranked_and_the_others_said(tmp_path: Path) -> None:
    many = [edit(f"- rule-{name}") for name in "abc"]

    def reply(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name == "rank":
            return {"reasoning": "", "selected": [2, 0]}
        if request.schema_name.startswith("reflect"):
            return reflection(many[0] if 'task="train-00"' in request.messages[0].content else many[1], many[2])
        return sensible(request)

    step, report = await run(world(tmp_path, reply, minibatch=1))
    assert len(step.proposed) == 3
    assert [e.content for e in step.chosen] == [step.proposed[2].content, step.proposed[0].content]
    assert {fate.fate: fate.reason for fate in report.edits}["not_chosen"] == "over the budget of 2, ranked lower"
    assert len(report.edits) == report.proposed == 3


async def test_accumulation_reflects_batches_apart_and_merges_them_into_one_update(tmp_path: Path) -> None:
    made = world(tmp_path, batch=1, accumulation=2)
    step, report = await run(made)
    assert len(report.steps) == 1
    assert [len(batch) for batch in step.batches] == [1, 1]
    assert len(made.client.asked("reflect_failures")) == 2
    assert len(made.client.asked("merge")) == 1


async def test_gold_that_is_said_beside_an_edit_gets_into_no_commit_and_no_later_prompt(tmp_path: Path) -> None:
    shape = {"type": "wants GOLD-train-01", "count": 1, "description": "as GOLD-train-01 says"}
    told = edit("- rule-a", rationale="The answer is GOLD-train-00.")

    def reply(request: ModelRequest) -> dict[str, Any]:
        reflecting = request.schema_name.startswith("reflect")
        return reflection(told, patterns=[shape]) if reflecting else sensible(request)

    made = world(tmp_path, reply)
    step, report = await run(made)
    assert [(one.type, one.description) for one in step.patterns] == [("wants [withheld]", "as [withheld] says")]
    assert [one.rationale for one in step.applied] == ["The answer is [withheld]."]
    [sha] = report.commits
    [row] = [row for row in await made.history.log() if row.sha == sha]
    assert "withheld" in row.subject + row.body
    assert "GOLD" not in row.subject + row.body
