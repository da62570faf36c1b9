"""A run that edits the whole folder: references come, change and go, each as one commit that stands by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.optimizer.decision import StepDecision
from daemon.optimizer.loop import Training
from daemon.optimizer.report import RunReport
from daemon.optimizer.settings import Knobs
from harnesses.harness import Assignment, Attempt, RenderedSkill
from harnesses.models.client import ModelRequest
from skills_repo.history import Author
from skills_repo.references import mentions
from skills_repo.repository import SkillRepository
from skills_repo.skill import Skill
from skills_repo.validate import validate
from tests.support.optimizer import (
    Killed,
    MortalJournal,
    ScriptedOptimizer,
    World,
    WorldHarness,
    make_skill,
    reflection,
    sensible,
    task_set,
    user_text,
)
from tests.support.skills import git, lay

if TYPE_CHECKING:
    from daemon.journal.journal import Journal

PATH = "skills/demo"
FORMS, MAPS, OLD = "references/forms.md", "references/maps.md", "references/old.md"
NEEDS = {"0": ["rule-forms"], "1": ["rule-dates"], "2": ["rule-maps"]}
BREAKS = {"3": ["rule-old"]}


def start() -> Skill:
    """SKILL.md names one reference, which a person wrote and which misleads."""
    skill = make_skill("- Look first.", f"- Old ways: `{OLD}`.")
    return replace(skill, files={**skill.files, OLD: b"# Old\r\n\r\n- rule-old\r\n", "scripts/run.sh": b"#!/bin/sh\n"})


class Reader(WorldHarness):
    """An agent that opens the references which SKILL.md names."""

    async def run(self, assignment: Assignment) -> Attempt:
        skill = assignment.skill
        assert skill is not None
        opened = [skill.files[path].decode() for path in sorted(mentions(skill.text)) if path in skill.files]
        seen = RenderedSkill(skill.name, skill.digest, {"SKILL.md": "\n".join([skill.text, *opened]).encode()})
        return await super().run(replace(assignment, skill=seen))


def proposed(op: str, file: str = "SKILL.md", target: str = "", content: str = "", link: str = "") -> dict[str, Any]:
    return {
        "op": op,
        "file": file,
        "target": target,
        "content": content,
        "link": link,
        "rationale": "why",
        "evidence": ["train-00"],
    }


def scripted(request: ModelRequest) -> dict[str, Any]:
    """What to do next is read off the skill as the prompt shows it."""
    if request.schema_name == "repair":
        row = json.loads(user_text(request).split("<edits>\n")[1].split("\n</edits>")[0])[0]
        assert (row["status"], row["file"]) == ("not_linked", MAPS)
        return {
            "reasoning": "r",
            "edits": [{**_corrected(row), "index": 0, "link": f"- Maps: read {MAPS}.", "target": "- Look first."}],
        }
    if request.schema_name != "reflect_failures":
        return sensible(request)
    text = user_text(request)
    if FORMS not in text:
        link = f"- Forms: read [the page]({FORMS}) before you fill one."
        return reflection(proposed("create", FORMS, "- Look first.", "# Forms\n\n- rule-forms\n- Guess dates.", link))
    if "rule-dates" not in text.split("<attempt")[0]:
        return reflection(proposed("replace", FORMS, "- Guess dates.", "- rule-dates"))
    if MAPS not in text:
        return reflection(proposed("create", MAPS, "", "# Maps\n\n- rule-maps"))
    return reflection(proposed("remove", OLD))


def _corrected(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row.get(name, "") for name in ("op", "file", "target", "content", "link")}


@dataclass
class Run:
    """A run over real git."""

    root: Path
    world: World
    report: RunReport
    history: SkillRepository
    steps: tuple[StepDecision, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.steps = self.report.steps

    def git(self, *argv: str) -> str:
        return git(self.root, *argv)


def a_world(folder: Path, reply: Callable[[ModelRequest], Any] = scripted) -> World:
    """Four steps' worth of things to learn, over a history in memory."""
    tasks = task_set(4, 4, 1)
    splits = ("train", "selection", "test")
    needs = {f"{split}-0{i}": rules for split in splits for i, rules in NEEDS.items()}
    breaks = {f"{split}-0{i}": rules for split in splits for i, rules in BREAKS.items()}
    world = World(folder / "attempts", Reader(needs, breaks), tasks, ScriptedOptimizer(reply), skill=start())
    world.train = TrainSection(gate="strict", epochs=4, batch=4, minibatch=4, edit_budget=1, min_edit_budget=1)
    return world


def training(world: World, **knobs: Any) -> Training:
    return replace(world.training(), knobs=Knobs(world.train, **{"references": True, **knobs}))


async def train(folder: Path, reply: Callable[[ModelRequest], Any] = scripted, **knobs: Any) -> Run:
    world = a_world(folder, reply)
    root = folder / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    lay(root / PATH, start().files)
    lay(root, {"README.md": b"readme\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Add the skill")
    history = SkillRepository(root, PATH, author=Author("honed", "honed@localhost"))
    world.history = history
    return Run(root, world, await training(world, **knobs).run(), history)


def tree(run: Run, commit: str) -> list[str]:
    return run.git("ls-tree", "-r", "--name-only", commit).split()


async def test_references_come_change_and_go_one_commit_each(tmp_path: Path) -> None:
    run = await train(tmp_path)
    assert [step.outcome for step in run.steps] == ["accepted"] * 4
    assert [step.applied[0].op.value for step in run.steps] == ["create", "replace", "create", "remove"]
    commits = run.report.commits
    assert len(commits) == 4
    others = ["README.md", f"{PATH}/SKILL.md"]
    expected = [
        {FORMS, OLD},
        {FORMS, OLD},
        {FORMS, MAPS, OLD},
        {FORMS, MAPS},
    ]
    changed = [
        {FORMS, "SKILL.md"},
        {FORMS},
        {MAPS, "SKILL.md"},
        {OLD, "SKILL.md"},
    ]
    for commit, files, paths in zip(commits, expected, changed, strict=True):
        assert tree(run, commit) == sorted([*others, f"{PATH}/scripts/run.sh", *(f"{PATH}/{file}" for file in files)])
        names = run.git("diff-tree", "-r", "--name-only", "--no-commit-id", commit).split()
        assert set(names) == {f"{PATH}/{file}" for file in paths}
        skill = await run.history.read(commit)
        assert not [warning for warning in validate(skill) if "links to" in warning]
        assert mentions(skill.text) == files  # by itself: every commit links what it has and nothing else
    assert run.git("show", f"{commits[-1]}:{PATH}/{FORMS}") == "# Forms\n\n- rule-forms\n- rule-dates\n"
    text = run.git("show", f"{commits[-1]}:{PATH}/SKILL.md")
    assert text.endswith(
        f"- Look first.\n- Maps: read {MAPS}.\n- Forms: read [the page]({FORMS}) before you fill one.\n"
    )
    run.git("fsck", "--strict")


async def test_a_reference_without_a_link_is_sent_back_once_with_the_reason(tmp_path: Path) -> None:
    run = await train(tmp_path)
    [request] = run.world.client.asked("repair")
    assert "SKILL.md would not name a reference by its path" in user_text(request)
    assert any("was sent back (not_linked) and then applied" in note for note in run.steps[2].notes)


async def test_a_correction_without_a_link_ends_there(tmp_path: Path) -> None:
    def stubborn(request: ModelRequest) -> dict[str, Any]:
        if request.schema_name == "repair":
            return {
                "reasoning": "r",
                "edits": [{"index": 0, **_corrected(proposed("create", MAPS, "", "- rule-maps"))}],
            }
        return scripted(request)

    run = await train(tmp_path, stubborn)
    step = run.steps[2]
    assert step.outcome == "no_change"
    [row] = step.report
    assert row.status == "not_linked"
    assert MAPS in row.detail
    assert not any(MAPS in name for name in tree(run, run.report.commits[-1]))


async def test_reverting_the_commit_takes_file_and_link_away(tmp_path: Path) -> None:
    run = await train(tmp_path)
    clone = tmp_path / "clone"
    run.git("clone", "-q", "-b", "honed/demo", str(run.root), str(clone))
    git(clone, "revert", "--no-edit", run.report.commits[2])
    assert not (clone / PATH / MAPS).exists()
    assert MAPS not in (clone / PATH / "SKILL.md").read_text()
    assert FORMS in (clone / PATH / "SKILL.md").read_text()


async def test_messages_say_which_file(tmp_path: Path) -> None:
    run = await train(tmp_path)
    created, changed, _, gone = [run.git("log", "-1", "--format=%B", commit) for commit in run.report.commits]
    assert created.startswith(f'skill(demo): create "{FORMS}"\n')
    assert f"Honed-File: {FORMS}" in changed
    assert f"Of the skill's file {FORMS}." in changed
    assert gone.startswith(f'skill(demo): remove "{OLD}"\n')


async def test_the_optimizer_sees_editable_files_before_anything_that_differs_between_minibatches(
    tmp_path: Path,
) -> None:
    run = await train(tmp_path)
    first, *_, last = run.world.client.asked("reflect_failures")
    for request in (first, last):
        message = request.messages[0]
        assert "<skill_files>" in message.content[: message.stable]
        assert '{"file": "scripts/run.sh", "bytes": 10}' in message.content
        assert '"create" makes a new reference' in request.system
        assert "#!/bin/sh" not in message.content
    assert f'<skill_file path="{OLD}">\n# Old\r\n' in user_text(first)
    assert f'<skill_file path="{FORMS}">\n# Forms\n\n- rule-forms\n- rule-dates\n' in user_text(last)
    assert first.schema is not None
    assert set(first.schema["$defs"]["ReferenceEdit"]["properties"]) >= {"file", "link"}


async def test_with_the_defaults_nothing_speaks_of_files_and_nothing_else_is_edited(tmp_path: Path) -> None:
    run = await train(tmp_path, sensible, references=False)
    for request in run.world.client.requests:
        whole = f"{request.system}{user_text(request)}{json.dumps(request.schema)}"
        assert "skill_files" not in whole
        assert "link" not in whole
        assert '"file"' not in whole
    assert run.report.commits
    for commit in run.report.commits:
        assert run.git("diff-tree", "-r", "--name-only", "--no-commit-id", commit).split() == [f"{PATH}/SKILL.md"]


async def test_a_run_that_is_made_again_comes_to_the_same_commits(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    runs = [await train(tmp_path / name) for name in ("a", "b")]
    assert runs[0].report.commits == runs[1].report.commits


async def test_a_run_that_dies_comes_to_the_same_commits_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    whole = a_world(tmp_path / "whole")
    counting = MortalJournal(MemoryJournal())
    whole.journal = cast("Journal", counting)
    expected = (await training(whole).run()).commits
    assert len(expected) == 4
    for at in range(4, counting.writes, counting.writes // 7):
        world = a_world(tmp_path / str(at))
        left = MemoryJournal()
        world.journal = cast("Journal", MortalJournal(left, at))
        with pytest.raises(Killed):
            await training(world).run()
        world.journal = cast("Journal", MortalJournal(left))
        assert (await training(world).run()).commits == expected


async def test_attempts_are_not_shared_between_skills_that_differ_in_a_reference_alone(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    skill = start().with_file(FORMS, b"- rule-forms\n")
    rollouts, tasks = world.rollouts(), world.tasks.split("train")[:1]
    await world.journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    for one in (skill, skill.with_file(FORMS, b"- rule-other\n"), skill):
        await rollouts.score(one, tasks, run_id="r1")
    assert sorted(world.harness.runs.values()) == [1, 1]


@pytest.mark.parametrize("data", ["references/forms.md", "scripts/run.sh"])
def test_any_file_changes_what_attempts_are_keyed_by(data: str) -> None:
    skill = start().with_file(FORMS, b"- a\n")
    assert skill.with_file(data, b"other\n").digest != skill.digest
