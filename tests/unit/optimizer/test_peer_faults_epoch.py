"""Faults of peers at the end of an epoch and in what is remembered over epochs; each test is named after its fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.decision import SlowUpdateDecision
from daemon.optimizer.report import RunReport
from harnesses.models.client import ModelRequest
from tests.support.optimizer import (
    Killed,
    MortalJournal,
    World,
    WorldHarness,
    reflection,
    section,
    sensible,
    task_set,
    user_text,
)


def reply(request: ModelRequest) -> Any:
    """Steps that propose nothing; guidance that is of no use; notes that say where they come from."""
    if request.schema_name == "slow_update":
        return {"reasoning": "r", "guidance": "Take a deep breath."}
    if request.schema_name == "meta_skill":
        return {"reasoning": "r", "notes": f"{section(request, 'present_notes')} and more"}
    return reflection() if request.schema_name.startswith("reflect") else sensible(request)


def world(folder: Path, **train: Any) -> World:
    tasks = task_set(4, 4, 2)
    knobs = {"epochs": 4, "batch": 4, "minibatch": 4, "gate": "strict", **train}
    made = World(folder, WorldHarness({t.id: ["rule-z"] for t in tasks.tasks}), tasks, train=TrainSection(**knobs))
    made.client.reply = reply
    return made


async def updates(made: World, report: RunReport) -> list[SlowUpdateDecision]:
    journal = made.journal.inner if isinstance(made.journal, MortalJournal) else made.journal
    found = await journal.decisions(report.run_id)
    return [SlowUpdateDecision.model_validate(one.payload) for one in found if one.kind == "slow_update"]


async def test_rejected_guidance_is_judged_again_on_the_same_skill(tmp_path: Path) -> None:
    made = world(tmp_path)
    found = await updates(made, await made.training().run())
    assert [one.verdict is not None for one in found] == [True, False, False]
    assert [one.outcome for one in found] == ["rejected", "no_change", "no_change"]


async def test_the_optimizers_notes_are_lost_on_resume(tmp_path: Path) -> None:
    calm = world(tmp_path / "calm", epochs=5)
    calm.journal = watch = MortalJournal(MemoryJournal())
    await calm.training().run()
    expected = [user_text(request) for request in calm.client.asked("reflect_failures")]
    assert any(section(r, "optimizer_memory") for r in calm.client.asked("reflect_failures")[3:])
    for at in range(watch.writes - 25, watch.writes - 1, 4):
        made = world(tmp_path / str(at), epochs=5)
        memory = MemoryJournal()
        made.journal = MortalJournal(memory, at)
        with pytest.raises(Killed):
            await made.training().run()
        made.journal = memory
        await made.training().run()
        asked = dict.fromkeys(user_text(request) for request in made.client.asked("reflect_failures"))
        assert list(asked) == list(dict.fromkeys(expected))


async def test_the_guidance_is_asked_for_again_on_resume(tmp_path: Path) -> None:
    calm = world(tmp_path / "calm")
    calm.journal = watch = MortalJournal(MemoryJournal())
    await calm.training().run()
    made = world(tmp_path / "killed")
    memory = MemoryJournal()
    made.journal = MortalJournal(memory, watch.writes - 1)
    with pytest.raises(Killed):
        await made.training().run()
    made.journal = memory
    assert (await made.training().run()).resumed
    assert len(made.client.asked("slow_update")) == len(calm.client.asked("slow_update")) == 3


async def test_slow_update_and_meta_skill_are_confused_with_one_another(tmp_path: Path) -> None:
    """SkillOpt 38: what the agent reads, and what only the optimizer reads."""
    made = world(tmp_path, slow_update="forced")
    report = await made.training().run()
    text = (await made.history.read(report.commits[-1])).text
    assert "Take a deep breath." in text
    assert "and more" not in text
    later = made.client.asked("reflect_failures")[-1]
    assert section(later, "optimizer_memory") == "and more and more"


async def test_a_forced_update_of_nothing_is_committed_every_epoch(tmp_path: Path) -> None:
    """Guidance that stands already is no change, forced or not."""
    made = world(tmp_path, slow_update="forced")
    report = await made.training().run()
    assert [one.outcome for one in await updates(made, report)] == ["accepted", "no_change", "no_change"]
    assert len(report.commits) == 1
