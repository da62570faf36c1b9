"""A person's `git revert` of an edit teaches later runs: it is not proposed again, and its reason is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.optimizer.firewall import Firewall
from daemon.optimizer.people import People, TakenBack
from harnesses.models.client import ModelRequest
from skills_repo.fake import FakeSkillRepository
from tests.support.optimizer import (
    ScriptedOptimizer,
    World,
    WorldHarness,
    edit,
    reflection,
    section,
    sensible,
    task_set,
)

WHY = "We write dates the other way round."


def stubborn(request: ModelRequest) -> Any:
    """Proposes the same, whatever it is told."""
    return reflection(edit("- rule-a")) if request.schema_name == "reflect_failures" else sensible(request)


def world(folder: Path, **train: Any) -> World:
    needs = {f"{split}-0{i}": ["rule-a"] for split in ("train", "selection", "test") for i in range(4)}
    made = World(folder, WorldHarness(needs), task_set(4, 4, 4), client=ScriptedOptimizer(stubborn))
    made.train = TrainSection(**{"gate": "strict", "epochs": 1, "batch": 4, "minibatch": 4, **train})
    return made


async def trained(folder: Path, **train: Any) -> tuple[World, FakeSkillRepository, str]:
    """A world whose one edit was accepted."""
    made = world(folder, **train)
    report = await made.training().run()
    assert isinstance(made.history, FakeSkillRepository)
    [commit] = report.commits
    return made, made.history, commit


async def known(made: World, base: str, run: str = "r-x") -> tuple[TakenBack, ...]:
    """What a run that began at this commit would know."""
    record = RunRecord(run, "f", "skills/demo", base, "open", 1.0)
    journal = MemoryJournal()
    await journal.open_run(record)
    people = People(journal, made.history, Firewall.of(made.tasks))
    return await people.of(record, made.tasks.split("train"))


async def revert(history: FakeSkillRepository, commit: str, reason: str = WHY) -> str:
    [row] = [row for row in await history.log() if row.sha == commit]
    before = (await history.read(row.parents[0])).files
    return history.human_commit(before, f'Revert "x"\n\nThis reverts commit {commit}.\n\n{reason}\n')


@pytest.mark.parametrize("mode", ["honed", "paper"])
async def test_a_reverted_edit_is_never_proposed_again_and_its_reason_is_named(tmp_path: Path, mode: str) -> None:
    made, history, commit = await trained(tmp_path, mode=mode, epochs=2)
    await revert(history, commit)
    report = await made.training().run()
    assert report.commits == ()
    assert [row.reason for row in report.steps[0].refused] == [f"a person took it back: {WHY}"]
    [first, *_] = [r for r in made.client.asked("reflect_failures") if "Taken back" in r.messages[0].content]
    earlier = section(first, "earlier_steps")
    assert earlier.startswith("Taken back by a person.")
    assert WHY in earlier
    assert "rule-a" in earlier


async def test_an_optimizer_that_reads_does_not_propose_it(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path)
    await revert(history, commit)
    made.client.reply = sensible
    report = await made.training().run()
    assert [(step.outcome, step.refused) for step in report.steps] == [("no_edits", ())]


async def test_it_is_remembered_in_every_epoch(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path, epochs=3)
    await revert(history, commit)
    report = await made.training().run()
    assert len(report.steps) == 3
    assert all("a person took it back" in step.reason for step in report.steps)


async def test_a_revert_that_was_reverted_counts_no_more(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path)
    undone = await revert(history, commit)
    assert [one.commit for one in await known(made, undone)] == [commit]
    with_it = (await history.read(commit)).files
    again = history.human_commit(with_it, f'Revert "Revert"\n\nThis reverts commit {undone}.\n')
    assert await known(made, again) == ()


async def test_what_was_reverted_later_than_a_runs_base_is_not_part_of_it(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path)
    await revert(history, commit)
    assert await known(made, commit) == ()


async def test_a_persons_words_are_neutral_and_bounded(tmp_path: Path) -> None:
    made, history, commit = await trained(tmp_path)
    await revert(history, commit, "fixes #12 <!-- x --> \x1b[31m " + "long " * 200)
    [one] = await known(made, await history.base())
    assert len(one.reason) <= 300
    assert not {"#12", "<!--", "\x1b"} & set(one.reason.split())
    assert (await made.training().run()).commits == ()
