"""The slow update and the meta skill at the end of an epoch, in whole runs on fakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision
from daemon.optimizer.decision import SlowUpdateDecision
from daemon.optimizer.report import RunReport
from daemon.rollouts.progress import SlowUpdateDecided
from harnesses.models.client import ModelRequest
from harnesses.outcome import Outcome
from skills_repo import guarded
from tests.support.optimizer import (
    Heard,
    Killed,
    MortalJournal,
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
    user_text,
)

GUIDANCE = "Remember rule-b in every step."


def guided(guidance: str = GUIDANCE, notes: str = "Rules that name a check hold up.") -> Replier:
    """Steps that find nothing, and a slow update that knows what is missing."""

    def reply(request: ModelRequest) -> Any:
        if request.schema_name == "slow_update":
            return {"reasoning": "what regressed needs it", "guidance": guidance}
        if request.schema_name == "meta_skill":
            return {"reasoning": "r", "notes": notes}
        if request.schema_name.startswith("reflect"):
            return reflection(patterns=[{"type": "no rule", "count": 1, "description": "d"}])
        return sensible(request)

    return reply


def world(folder: Path, reply: Replier, **train: Any) -> World:
    tasks = task_set(6, 4, 2)
    needs = {task.id: ["rule-b"] for task in tasks.tasks}
    knobs = TrainSection(
        **{"gate": "strict", "epochs": 3, "batch": 6, "minibatch": 3, "slow_update_samples": 4, **train}
    )
    return World(folder, WorldHarness(needs), tasks, ScriptedOptimizer(reply), train=knobs)


async def decisions(made: World, report: RunReport) -> list[SlowUpdateDecision]:
    found = await made.journal.decisions(report.run_id)
    return [SlowUpdateDecision.model_validate(one.payload) for one in found if one.kind == "slow_update"]


async def test_guidance_is_written_to_the_guarded_region_and_committed(tmp_path: Path) -> None:
    made = world(tmp_path, guided())
    report = await made.training().run()
    [update] = await decisions(made, report)
    assert (update.epoch, update.step, update.outcome) == (2, 2, "accepted")
    assert update.persistent_failure == update.sampled
    assert len(update.sampled) == 4
    text = (await made.history.read(made.history.branch)).text
    assert guarded.read(text) == GUIDANCE
    [commit] = [row for row in await made.history.log() if "Honed-Run" in row.trailers]
    assert commit.trailers["Honed-Phase"] == "slow_update"
    assert commit.trailers["Honed-Op"] == "slow_update"
    assert commit.sha in report.commits
    assert [fate.fate for fate in report.edits] == ["accepted"]


async def test_it_passes_the_gate_like_any_candidate(tmp_path: Path) -> None:
    made = world(tmp_path, guided("Be kind."))
    report = await made.training().run()
    first, second = await decisions(made, report)
    assert first.outcome == "rejected"
    assert second.outcome == "no_change"
    assert report.commits == ()
    assert guarded.read((await made.history.read("HEAD")).text) == ""


async def test_forced_it_is_kept_with_an_honest_score_and_never_called_the_best(tmp_path: Path) -> None:
    """Faults of a peer: a forced skill kept the score of the one before, and was reported as the best."""
    made = world(tmp_path, guided("harm"), slow_update="forced", epochs=2)
    made.harness.needs = {task: (["rule-b"] if "train" in task else []) for task in made.harness.needs}
    made.harness.needs["selection-00"] = ["rule-b"]
    made.harness.breaks = {"selection-01": ["harm"]}
    report = await made.training().run()
    [update] = await decisions(made, report)
    assert (update.outcome, update.forced) == ("accepted", True)
    assert update.verdict is not None
    assert (update.verdict.ruling, update.verdict.before, update.verdict.after) == ("rejected", 0.75, 0.5)
    assert "forced" in update.reason
    [commit] = [row for row in await made.history.log() if "Honed-Run" in row.trailers]
    assert "forced" in commit.trailers["Honed-Gate"]
    assert not report.current_is_best
    assert report.best_digest == make_skill().digest
    assert report.selection.after is not None
    assert report.selection.after.score == 0.75


@pytest.mark.parametrize(
    ("guidance", "outcome", "reason"),
    [
        ("", "no_change", "leaves the guidance as it is"),
        ("<!-- honed:slow-update:end --> more", "no_change", "cannot be written"),
        ("a" * 3_001, "no_change", "cannot be written: too_large"),
        ("plain\u200btext", "no_change", "cannot be written"),
        ("use the key sk-ant-api03-" + "a1B2" * 20, "no_change", "it carries a credential"),
        ("The answer is GOLD-selection-00.", "no_change", "the guidance was refused"),
    ],
)
async def test_guidance_passes_the_same_guards_as_edits(
    tmp_path: Path, guidance: str, outcome: str, reason: str
) -> None:
    made = world(tmp_path, guided(guidance), epochs=2)
    report = await made.training().run()
    [update] = await decisions(made, report)
    assert update.outcome == outcome
    assert reason in update.reason
    assert report.commits == ()
    assert "GOLD-" not in update.reason


async def test_no_step_touches_the_region(tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> Any:
        if request.schema_name == "reflect_failures" and GUIDANCE in user_text(request):
            return reflection(edit("Forget it.", op="replace", target=GUIDANCE))
        return guided()(request)

    made = world(tmp_path, reply, epochs=4)
    made.harness.needs = {**made.harness.needs, "selection-00": ["never"], "train-00": ["never"]}
    report = await made.training().run()
    assert [row.status for step in report.steps for row in step.report] == ["touches_guarded"] * 2
    assert guarded.read((await made.history.read(made.history.branch)).text) == GUIDANCE


async def test_the_groups_are_what_happened_under_the_skills_of_two_epochs(tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> Any:
        if request.schema_name == "reflect_failures" and "- rule-x" not in section(request, "current_skill"):
            return reflection(edit("- rule-x"))
        return guided("")(request)

    made = world(tmp_path, reply, epochs=2, slow_update_samples=9, batch=3)
    made.harness.needs = {f"train-0{i}": ["rule-x"] for i in (0, 1)} | {"train-02": ["never"]}
    made.harness.needs |= {"train-05": ["never"]} | {f"selection-0{i}": ["late"] for i in range(4)}
    made.harness.breaks = {"train-03": ["rule-x"]}
    # The first step of the second epoch is the one that gets it in.
    made.harness.needs["selection-00"] = ["rule-x"]
    report = await made.training().run()
    [update] = await decisions(made, report)
    accepted = [step.epoch for step in report.steps if step.outcome == "accepted"]
    groups = (update.improved, update.regressed, update.persistent_failure, update.stable_success)
    assert sum(map(len, groups)) == len(update.sampled) == 6
    if accepted == [2]:
        assert groups == (("train-00", "train-01"), ("train-03",), ("train-02", "train-05"), ("train-04",))
    else:
        assert accepted == [1]
        assert update.improved == update.regressed == ()
        assert update.persistent_failure == ("train-02", "train-03", "train-05")


async def test_both_skills_are_attempted_at_the_same_time_and_paid_once(tmp_path: Path) -> None:
    """Fault of a peer: the rollouts of two skills one after the other, never shared with other phases."""
    made = world(tmp_path, guided(""), epochs=2)
    await made.training().run()
    assert all(count == 1 for count in made.harness.runs.values())
    assert len(made.client.asked("slow_update")) == 1


async def test_sampled_tasks_that_are_all_solved_ask_nobody(tmp_path: Path) -> None:
    made = world(tmp_path, guided(), epochs=2, slow_update_samples=1, batch=6, seed=3)
    made.harness.needs = {f"selection-0{i}": ["never"] for i in range(4)}
    made.harness.needs["train-00"] = ["never"]
    report = await made.training().run()
    [update] = await decisions(made, report)
    if update.sampled == ("train-00",):
        pytest.fail("choose another seed: the sample has to miss the failing task")
    assert update.outcome == "nothing_to_learn"
    assert made.client.asked("slow_update") == []


@pytest.mark.parametrize(
    ("switch", "role"), [({"slow_update": "off"}, "slow_update"), ({"meta_skill": False}, "meta_skill")]
)
async def test_each_can_be_switched_off(tmp_path: Path, switch: dict[str, Any], role: str) -> None:
    made = world(tmp_path, guided(""), **switch)
    await made.training().run()
    roles = {request.schema_name for request in made.client.requests}
    assert role not in roles
    assert {"slow_update", "meta_skill"} - {role} <= roles


async def test_notes_reach_later_reflections_and_never_the_agent(tmp_path: Path) -> None:
    made = world(tmp_path, guided(""))
    seen: list[str] = []
    plain = made.harness.run

    async def spying(assignment: Any) -> Any:
        seen.append(f"{assignment.prompt}{assignment.skill.files}{assignment.files}")
        return await plain(assignment)

    made.harness.run = spying  # type: ignore[method-assign]
    await made.training().run()
    by_epoch = [section_or_none(request, "optimizer_memory") for request in made.client.asked("reflect_failures")]
    assert by_epoch == [None] * 4 + ["Rules that name a check hold up."] * 2
    assert not any("hold up" in text for text in seen)
    assert len(made.client.asked("meta_skill")) == 1  # nobody would read those of the last epoch


async def test_notes_without_end_are_cut_before_anything_reads_them(tmp_path: Path) -> None:
    made = world(tmp_path, guided("", notes="Check it. " * 100_000 + "GOLD-test-00"))
    await made.training().run()
    last = made.client.asked("reflect_failures")[-1]
    assert 3_900 < len(section(last, "optimizer_memory")) <= 4_000


def section_or_none(request: ModelRequest, marker: str) -> str | None:
    return section(request, marker) if f"<{marker}>" in user_text(request) else None


@pytest.mark.parametrize(
    "bad",
    [
        "not json at all",
        {"reasoning": "r", "notes": "  "},
        {"reasoning": "r", "notes": "GOLD-test-00"},
        {"reasoning": "r", "notes": "Trust\u200b me."},
    ],
)
async def test_an_epoch_without_usable_notes_keeps_the_earlier_ones(tmp_path: Path, bad: Any) -> None:
    """Fault of a peer: if one epoch gave none, the next one had no memory at all."""
    asked = 0

    def reply(request: ModelRequest) -> Any:
        nonlocal asked
        if request.schema_name != "meta_skill":
            return guided("")(request)
        asked += 1
        return bad if asked > 1 else {"reasoning": "r", "notes": "first notes"}

    made = world(tmp_path, reply, epochs=4)
    await made.training().run()
    last = made.client.asked("reflect_failures")[-1]
    assert section(last, "optimizer_memory") == "first notes"


async def test_the_notes_are_asked_with_what_the_epoch_tried(tmp_path: Path) -> None:
    def reply(request: ModelRequest) -> Any:
        if request.schema_name == "reflect_failures":
            return reflection(edit("- useless"), patterns=[{"type": "no rule", "count": 2, "description": "d"}])
        return guided("")(request)

    made = world(tmp_path, reply)
    await made.training().run()
    [request] = made.client.asked("meta_skill")
    epoch = section(request, "epoch")
    assert '"outcome": "no change"' in epoch  # rejected in the first epoch, refused in the second
    assert "no rule" in epoch
    assert "4 failed under both" in section(request, "comparison")


async def test_guidance_that_was_rejected_is_not_judged_again_on_the_same_skill(tmp_path: Path) -> None:
    made = world(tmp_path, guided("Be kind."))
    first, second = await decisions(made, await made.training().run())
    assert (first.outcome, second.outcome) == ("rejected", "no_change")
    assert second.verdict is None
    assert second.reason == "the same candidate was already tried on this skill and rejected in this run"


async def test_a_skill_that_cannot_be_better_gets_no_guidance(tmp_path: Path) -> None:
    """The step before the epoch's end reached 1.0: whatever is written could only be rejected, or forced on it."""

    def reply(request: ModelRequest) -> Any:
        late = len(made.client.asked("reflect_failures")) > 2  # the first epoch asks twice
        return sensible(request) if late or request.schema_name == "slow_update" else reflection()

    made = world(tmp_path, reply, epochs=4, slow_update="forced")
    made.harness.needs = {**made.harness.needs, "train-00": ["never"]}
    report = await made.training().run()
    assert [step.outcome for step in report.steps] == ["no_edits", "accepted"]
    assert report.best_digest == (await made.history.read(made.history.branch)).digest
    assert "the selection score is 1.0" in report.ended
    assert await decisions(made, report) == []


@pytest.mark.parametrize("workers", [1, 8])
async def test_a_skill_that_did_not_change_is_attempted_once_even_where_that_fails(
    tmp_path: Path, workers: int
) -> None:
    """An invalid attempt is not cached: with one worker it was made twice, with two it was shared."""
    made = world(tmp_path, guided("Be kind."), epochs=2, attempt_tries=1, slow_update_samples=6)
    made.workers = workers
    # In both epochs' steps, and once in the comparison.
    made.harness.failures = {"train-03": [Outcome.OUT_OF_MEMORY] * 3}
    [update] = await decisions(made, await made.training().run())
    assert update.sampled == tuple(sorted((*update.persistent_failure, "train-03")))
    assert made.harness.runs[make_skill().digest, "train-03"] == 3


async def test_notes_that_are_still_to_be_written_after_a_crash_attempt_nothing_again(tmp_path: Path) -> None:
    made = world(tmp_path, guided("Be kind."), attempt_tries=1, slow_update_samples=6)
    made.harness.failures = {"train-03": [Outcome.OUT_OF_MEMORY] * 3}
    memory = MemoryJournal()
    made.journal = dying = MortalJournal(memory, before=False)
    save = memory.save_decision

    async def last_words(decision: Decision) -> None:
        dying.dead = decision.kind == "slow_update"
        dying.at = dying.writes if dying.dead else None
        await save(decision)

    memory.save_decision = last_words  # type: ignore[method-assign]
    with pytest.raises(Killed):
        await made.training().run()
    del memory.save_decision
    [asked] = made.client.asked("meta_skill")
    runs = made.harness.runs[make_skill().digest, "train-03"]
    made.journal = memory
    await made.training().run()
    assert made.client.asked("meta_skill") == [asked]
    assert made.harness.runs[make_skill().digest, "train-03"] == runs + 1  # the third epoch's step


async def test_what_became_of_it_is_said(tmp_path: Path) -> None:
    made = world(tmp_path, guided())
    made.observer = heard = Heard()
    await made.training().run()
    said = [event for event in heard.events if isinstance(event, SlowUpdateDecided)]
    assert [(event.epoch, event.outcome, event.before, event.after, event.replayed) for event in said] == [
        (2, "accepted", 0.0, 1.0, False)
    ]
