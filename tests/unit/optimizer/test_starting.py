"""What a run starts from: the repository's skill, an empty one, or a folder given."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.config import SkillSection
from daemon.optimizer.starting import given_skill
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import Author
from skills_repo.skill import SkillError
from tests.support.optimizer import HEAD, World, WorldHarness, make_skill, task_set

NAMED = Author("honed", "honed@localhost")


def section(initial: str = "existing") -> SkillSection:
    return SkillSection(path="skills/demo", initial=initial)


def history() -> FakeSkillRepository:
    return FakeSkillRepository(make_skill("- old rule"), author=NAMED)


def folder(root: Path, text: str) -> Path:
    (root / "given/references").mkdir(parents=True)
    (root / "given/SKILL.md").write_text(text)
    (root / "given/references/more.md").write_text("more\n")
    return root


async def test_the_repositorys_skill_is_not_replaced() -> None:
    assert await given_skill(section(), history(), Path()) is None


async def test_an_empty_start_keeps_the_frontmatter_alone() -> None:
    skill = await given_skill(section("empty"), history(), Path())
    assert skill is not None
    assert skill.text == HEAD
    assert skill.name == "demo"


async def test_a_given_folder_is_taken_whole_under_the_skills_name(tmp_path: Path) -> None:
    root = folder(tmp_path, "---\nname: demo\ndescription: Given.\n---\n\n# demo\n- given rule\n")
    skill = await given_skill(section("given"), history(), root)
    assert skill is not None
    assert (skill.name, sorted(skill.files)) == ("demo", ["SKILL.md", "references/more.md"])


async def test_a_given_folder_must_be_a_valid_skill_of_that_name(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="no such folder"):
        await given_skill(section("nowhere"), history(), tmp_path)
    with pytest.raises(SkillError, match="name"):
        await given_skill(
            section("given"), history(), folder(tmp_path, "---\nname: other\ndescription: G.\n---\n\nx\n")
        )


async def test_the_first_accepted_step_commits_the_start_in_front_of_its_edits(tmp_path: Path) -> None:
    needs = {f"{split}-0{i}": ["rule-a"] for split in ("train", "selection") for i in range(4)}
    world = World(tmp_path, WorldHarness(needs), task_set(4, 4, 0), skill=make_skill("- old rule"))
    empty = make_skill()
    training = world.training(initial=empty)
    report = await training.run()
    assert len(report.commits) == 1
    log = [row for row in await world.history.log() if "Honed-Run" in row.trailers]
    assert [row.trailers.get("Honed-Phase", "step") for row in log] == ["step", "initial"]
    assert "old rule" not in (await world.history.read(world.history.branch)).text
    assert (await world.history.read(log[1].sha)).digest == empty.digest
    assert log[1].parents == (report.base_commit,)


async def test_a_start_from_which_nothing_is_accepted_changes_nothing(tmp_path: Path) -> None:
    needs = {f"{split}-0{i}": ["never"] for split in ("train", "selection") for i in range(4)}
    world = World(tmp_path, WorldHarness(needs), task_set(4, 4, 0), skill=make_skill("- old rule"))
    report = await world.training(initial=make_skill()).run()
    assert report.commits == ()
    assert await world.history.base() == report.base_commit


async def test_a_given_skill_that_the_branch_holds_already_is_not_committed(tmp_path: Path) -> None:
    needs = {f"{split}-0{i}": ["rule-a"] for split in ("train", "selection") for i in range(4)}
    world = World(tmp_path, WorldHarness(needs), task_set(4, 4, 0), skill=make_skill("- old rule"))
    report = await world.training(initial=make_skill("- old rule")).run()
    assert len(report.commits) == 1
    log = [row for row in await world.history.log() if "Honed-Run" in row.trailers]
    assert [row.trailers.get("Honed-Phase", "step") for row in log] == ["step"]
