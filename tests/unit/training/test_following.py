"""`honed train` before a new run: it follows a person's change on HEAD, waits, or goes on with its unfinished run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.cli.output import Output
from daemon.config import SkillSection
from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.loop import Training
from daemon.optimizer.opening import FOLLOWED
from daemon.rollouts.stop import RunStopped
from daemon.training.following import follow_people, followed_data
from skills_repo.repository import SkillRepository
from tests.support.optimizer import Killed, MortalJournal, World, WorldHarness, make_skill, task_set
from tests.support.skills import HONED, git, lay

PATH = "skills/demo"
RULES = ("- alpha", "- beta", "- gamma")


class Project:
    """A world whose skill stands in a real repository, and a person on main."""

    def __init__(self, folder: Path, **section: Any) -> None:
        self.root = folder / "repository"
        self.root.mkdir(parents=True)
        git(self.root, "init", "-q", "-b", "main")
        self.person(*RULES)
        self.history = SkillRepository(self.root, PATH, author=HONED)
        needs = {f"{split}-0{i}": [f"rule-{'ab'[i % 2]}"] for split in ("train", "selection", "test") for i in range(4)}
        self.world = World(folder / "attempts", WorldHarness(needs), task_set(4, 4, 4))
        self.world.history = self.history
        self.world.train = TrainSection(gate="strict", epochs=1, batch=2, minibatch=2, edit_budget=1, min_edit_budget=1)
        self.section = SkillSection(path=PATH, **section)

    def person(self, *lines: str) -> str:
        lay(self.root / PATH, make_skill(*lines).files)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "Mine")
        return git(self.root, "rev-parse", "HEAD").strip()

    async def training(self) -> Training:
        training = self.world.training()
        base = await self.history.base()
        return Training(**{**vars(training), "followed": await self.history.followed_to(base)})

    async def follow(self) -> bool:
        return await follow_people(await self.training(), self.history, self.section, Output())

    def branch(self) -> str:
        return git(self.root, "for-each-ref", "--format=%(objectname)", "refs/heads/honed/demo").strip()


async def text(project: Project) -> str:
    return (await project.history.read(await project.history.base())).text


async def test_the_next_run_starts_from_the_persons_version_and_remembers_how(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path)
    first = await (await project.training()).run()
    assert first.commits
    assert not await project.follow(), "nobody changed anything"
    mine = project.person("- mine", *RULES)
    assert await project.follow()
    said = capsys.readouterr().err
    assert f"{PATH} was changed on HEAD ({mine[:10]})" in said
    assert "made again on it" in said
    assert "refs/honed/rebased/demo/" in said
    assert not await project.follow(), "once"
    second = await (await project.training()).run()
    assert second.run_id != first.run_id
    assert second.base_commit == git(project.root, "rev-parse", f"honed/demo~{len(second.commits)}").strip()
    assert {"- mine", "- rule-a"} <= set((await text(project)).split("\n"))
    found = await project.world.journal.find_decision(second.run_id, 0, FOLLOWED)
    assert found is not None
    assert [row["old"] for row in found.payload["edits"]] == list(first.commits)
    assert await project.world.journal.find_decision(first.run_id, 0, FOLLOWED) is None
    data = followed_data(await project.history.followed_to(second.base_commit))
    assert data is not None
    assert (data["onto"], [row["old"] for row in data["edits"]]) == (mine, list(first.commits))


async def test_an_unfinished_run_goes_on_to_its_end_and_the_next_one_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    undisturbed, disturbed = Project(tmp_path / "one"), Project(tmp_path / "two")
    expected = await (await undisturbed.training()).run()
    journal = MemoryJournal()
    disturbed.world.journal = MortalJournal(journal, 30)
    with pytest.raises(Killed):
        await (await disturbed.training()).run()
    disturbed.world.journal = journal
    disturbed.person("- mine", *RULES)
    assert not await disturbed.follow()
    assert "goes on to its end as it began" in capsys.readouterr().err
    report = await (await disturbed.training()).run()
    assert (report.run_id, report.commits) == (expected.run_id, expected.commits)
    assert "- mine" not in await text(disturbed)
    assert await disturbed.follow()
    assert "- mine" in await text(disturbed)


async def test_what_is_published_waits_for_a_person_and_nothing_is_paid(tmp_path: Path) -> None:
    project = Project(tmp_path)
    first = await (await project.training()).run()
    git(project.root, "update-ref", "refs/remotes/origin/honed/demo", first.commits[-1])
    project.person("- mine", *RULES)
    before = project.branch()
    with pytest.raises(RunStopped, match="published, and those are not rewritten"):
        await project.follow()
    assert project.branch() == before


async def test_it_can_be_switched_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = Project(tmp_path, follow=False)
    await (await project.training()).run()
    project.person("- mine", *RULES)
    before = project.branch()
    assert not await project.follow()
    assert "has another version" in capsys.readouterr().err
    assert project.branch() == before


async def test_dropped_edits_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = Project(tmp_path)
    first = await (await project.training()).run()
    lines = [line for line in (await text(project)).split("\n") if line.startswith("- ")]
    project.person(*lines, "- mine")
    assert await project.follow()
    said = capsys.readouterr().err
    for sha in first.commits:
        assert f"({sha[:10]}): it stands there already" in said


async def test_a_branch_that_was_merged_goes_on_from_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = Project(tmp_path)
    await (await project.training()).run()
    git(project.root, "merge", "-q", "honed/demo")
    mine = project.person("- mine", *RULES)
    assert await project.follow()
    assert f"was changed on HEAD ({mine[:10]}): honed/demo goes on from there" in capsys.readouterr().err
    assert project.branch() == mine
