"""What a run leaves beside the branch: rejected candidates, its report as a note; and how it words its commits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from daemon import __version__
from daemon.config_train import TrainSection
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.beside import Beside
from daemon.optimizer.report import RunReport
from skills_repo.convention import Convention
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import Author, EditCommit, RepositoryError
from skills_repo.house_style import HouseStyle
from skills_repo.notes import ReportNotes
from skills_repo.rejected import RejectedCommit
from skills_repo.rejected_fake import FakeRejectedEdits
from skills_repo.rejected_refs import RejectedRefs
from skills_repo.repository import SkillRepository
from tests.support.optimizer import (
    Killed,
    MortalJournal,
    ScriptedOptimizer,
    World,
    WorldHarness,
    edit,
    make_skill,
    reflection,
    sensible,
    task_set,
)
from tests.support.skills import git, lay


@dataclass
class Notes:
    """A `TakesNotes` that remembers."""

    rows: list[tuple[str, str, float]] = field(default_factory=list)

    async def append(self, commit: str, text: str, *, when: float) -> None:
        self.rows.append((commit, text, when))


@dataclass(frozen=True)
class Style:
    """A `ReadsStyle` that answers by commit."""

    asked: list[str] = field(default_factory=list)

    async def at(self, commit: str) -> Convention:
        self.asked.append(commit)
        return Convention("conventional", "docs", scoped=True, sign_off="honed <honed@localhost>")


class Broken:
    """A store on a disk that is full."""

    async def keep(self, *_: object, **__: object) -> tuple[str, ...]:
        raise RepositoryError("no space left on device")

    async def keep_commits(self, *_: object, **__: object) -> None:
        raise RepositoryError("no space left on device")

    async def all(self) -> tuple[RejectedCommit, ...]:
        return ()

    async def prune(self, *, older_than: float, most: int) -> tuple[str, ...]:
        raise RepositoryError("no space left on device")

    async def append(self, commit: str, text: str, *, when: float) -> None:
        raise RepositoryError("no space left on device")


def overfitting(folder: Path) -> World:
    """`rule-a` helps everywhere, `rule-h` only train-01 while it breaks selection tasks: one is kept, one rejected."""
    tasks = task_set(4, 3, 2)
    needs = {task.id: ["rule-a"] for task in tasks.tasks} | {"train-01": ["rule-h"], "selection-02": ["rule-z"]}
    breaks = {"selection-00": ["rule-h"], "selection-01": ["rule-h"]}
    world = World(folder, WorldHarness(needs, breaks), tasks)
    world.train = TrainSection(
        gate="strict", epochs=2, batch=2, minibatch=1, merge_batch=2, edit_budget=1, min_edit_budget=1, seed=3
    )
    assert isinstance(world.history, FakeSkillRepository)
    world.beside = Beside(rejected=FakeRejectedEdits(world.history))
    return world


async def kept(world: World) -> tuple[RejectedCommit, ...]:
    assert world.beside.rejected is not None
    return await world.beside.rejected.all()


async def test_a_candidate_that_the_gate_rejects_is_kept_on_the_skill_that_it_was_tried_on(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    report = await world.training().run()
    rejected = [step for step in report.steps if step.outcome == "rejected"]
    found = await kept(world)
    assert len(found) == len(rejected) >= 1
    for step, one in zip(reversed(rejected), found, strict=True):
        commit = await world.history.commit(one.sha)
        assert commit.trailers["Honed-Step"] == f"{step.step}.1/1"
        assert commit.trailers["Honed-Gate"].startswith("rejected rule=strict/hard")
        assert commit.trailers["Honed-Cost"].startswith(f"attempts={step.attempts} ")
        assert (await world.history.read(one.sha)).digest == step.candidate_digest
        assert (await world.history.read(one.parent)).digest == step.base_digest
    assert {commit.sha for commit in await world.history.log()} & {one.sha for one in found} == set()


@pytest.mark.parametrize("before", [True, False], ids=["lost", "written"])
async def test_killed_at_any_write_it_keeps_the_same(tmp_path: Path, *, before: bool) -> None:
    plain = overfitting(tmp_path / "plain")
    plain.journal = MortalJournal(MemoryJournal())
    await plain.training().run()
    expected, writes = await kept(plain), plain.journal.writes
    for at in range(3, writes, 5):
        world = overfitting(tmp_path / str(at))
        memory = MemoryJournal()
        world.journal = MortalJournal(memory, at, before=before)
        with pytest.raises(Killed):
            await world.training().run()
        world.journal = MortalJournal(memory)
        await world.training().run()
        assert await kept(world) == expected, f"killed at write {at}"


async def test_what_the_guards_refuse_is_never_kept(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    world.client = ScriptedOptimizer(
        lambda request: (
            reflection(edit(f"- the key is sk-proj-{'a' * 40}"), edit("- say GOLD-selection-01"))
            if request.schema_name == "reflect_failures"
            else sensible(request)
        )
    )
    report = await world.training().run()
    assert report.count("refused") > 0
    assert await kept(world) == ()


async def test_a_rejected_slow_update_is_kept_under_its_own_name(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    world.client = ScriptedOptimizer(
        lambda request: (
            {"reasoning": "r", "guidance": "Always rule-h."}
            if request.schema_name == "slow_update"
            else sensible(request)
        )
    )
    report = await world.training().run()
    found = [await world.history.commit(one.sha) for one in await kept(world)]
    slow = [commit for commit in found if commit.trailers.get("Honed-Phase") == "slow_update"]
    assert [commit.trailers["Honed-Step"] for commit in slow] == ["4.1/1"], [step.outcome for step in report.steps]
    assert "Always rule-h." in (await world.history.read(slow[0].sha)).text


async def test_a_given_start_stands_below_the_rejected_edit(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    for task in ("train-00", "train-01", "train-02", "train-03"):
        world.harness.needs = {**world.harness.needs, task: ["rule-h"]}
    given = make_skill("- rule-a")
    report = await world.training(initial=given).run()
    assert report.accepted == 0
    found = await kept(world)
    assert len(found) >= 1
    for one in found:
        assert (await world.history.read(one.parent)).digest == given.digest
        start = await world.history.commit(one.parent)
        assert (start.trailers["Honed-Phase"], start.parents) == ("initial", (report.base_commit,))


async def test_none_is_kept_where_none_is_wanted(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    world.beside = replace(world.beside, most_rejected=0)
    await world.training().run()
    assert await kept(world) == ()


async def test_the_end_of_a_run_drops_what_is_too_old_or_too_much(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    store = world.beside.rejected
    assert store is not None
    base = await world.history.base()
    for number in range(3):
        change = EditCommit(make_skill(f"- old {number}"), "old\n")
        when = world.now - 86_400 * (5 if number else 20)
        await store.keep(f"r0.{number}", base, (change,), by="gate", when=when + number)
    world.beside = replace(world.beside, rejected_days=10.0, most_rejected=3)
    report = await world.training().run()
    assert sum(step.outcome == "rejected" for step in report.steps) == 2
    assert [one.when for one in await store.all()] == [world.now, world.now, world.now - 86_400 * 5 + 2]


async def test_the_report_is_noted_on_the_last_commit(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    notes = Notes()
    world.beside = Beside(notes=notes)
    report = await world.training().run()
    [(commit, text, when)] = notes.rows
    assert (commit, when) == (report.commits[-1], world.now)
    rows = dict(line.split(": ", 1) for line in text.splitlines())
    assert text.startswith(f"run: {report.run_id}\n")
    assert rows["selection"].startswith("before=0.000 after=0.667 n=3 of 3")
    assert rows["test"] == "before=0.000 after=1.000 n=2 of 2"
    assert rows["edits"] == f"{report.proposed} proposed, 1 accepted, {report.rejected} rejected"
    assert rows["target"] == "chat / fake-1"
    assert rows["optimizer"] == f"fakeprovider / optimizer-1 (honed {__version__})"
    assert rows["tasks"] == world.tasks.digest
    assert rows["base"] == report.base_commit
    assert rows["best skill"] == report.best_digest
    assert rows["cost"] == cost(report)
    assert "image" not in rows, "chat runs in no box"


def cost(report: RunReport) -> str:
    total = report.target_usage + report.optimizer_usage
    return f"attempts={report.attempts} tokens={total.tokens} usd={total.usd:.4f}"


async def test_a_run_without_a_commit_is_noted_on_its_base(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    notes = Notes()
    world.beside = Beside(notes=notes)
    world.client = ScriptedOptimizer(lambda request: "no JSON")
    report = await world.training().run()
    [(commit, text, _)] = notes.rows
    assert commit == report.base_commit
    assert "steps: 3 (3 optimizer_error)\n" in text
    assert "test: not measured\n" in text


async def test_a_store_that_fails_fails_no_run(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    expected = await world.training().run()
    other = overfitting(tmp_path / "other")
    other.beside = Beside(rejected=Broken(), notes=Broken())
    report = await other.training().run()
    assert report.commits == expected.commits
    assert not report.failed


async def test_commits_are_worded_by_the_convention_at_the_runs_base(tmp_path: Path) -> None:
    world = overfitting(tmp_path)
    style = Style()
    world.beside = Beside(style)
    base = await world.history.base()
    memory = MemoryJournal()
    world.journal = MortalJournal(memory, 12)
    with pytest.raises(Killed):
        await world.training().run()
    world.journal = memory
    report = await world.training().run()
    assert style.asked == [base, base], "a resumed run asks about the same commit"
    assert isinstance(world.history, FakeSkillRepository)
    message = world.history.message(report.commits[0])
    assert message.startswith('docs(demo): add "rule-')
    assert message.endswith("\nSigned-off-by: honed <honed@localhost>\n")


def on_git(folder: Path) -> World:
    """The same world over a real repository that words its commits in its own way."""
    world = overfitting(folder / "attempts")
    repository = folder / "r"
    lay(repository / "skills/demo", world.skill.files)
    git(repository, "init", "-q", "-b", "main")
    git(repository, "add", "-A")
    for number in range(6):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"docs(web): say {number}")
    author = Author("honed", "honed@localhost")
    world.history = SkillRepository(repository, "skills/demo", author=author)
    world.beside = Beside(
        HouseStyle(repository, "skills/demo", author=author),
        RejectedRefs(repository, "skills/demo", author=author),
        notes=ReportNotes(repository, author=author),
    )
    return world


async def test_on_real_git_a_killed_run_leaves_the_very_same_refs(tmp_path: Path) -> None:
    plain = on_git(tmp_path / "plain")
    plain.journal = MortalJournal(MemoryJournal())
    report = await plain.training().run()
    expected = git(tmp_path / "plain/r", "for-each-ref")
    names = [row.split("\t")[1] for row in expected.splitlines()]
    rejected = [f"refs/honed/rejected/demo/{report.run_id}.{s.step}" for s in report.steps if s.outcome == "rejected"]
    assert names == sorted(["refs/heads/honed/demo", "refs/heads/main", "refs/notes/honed", *rejected])
    shown = git(tmp_path / "plain/r", "notes", "--ref=honed", "show", "honed/demo")
    assert shown.startswith(f"run: {report.run_id}\n")
    subject = git(tmp_path / "plain/r", "log", "-1", "--format=%s", "honed/demo")
    assert subject == 'docs(demo): add "rule-a"\n'
    for at in range(5, plain.journal.writes, 17):
        world = on_git(tmp_path / str(at))
        memory = MemoryJournal()
        world.journal = MortalJournal(memory, at)
        with pytest.raises(Killed):
            await world.training().run()
        world.journal = memory
        await world.training().run()
        repository = tmp_path / str(at) / "r"
        assert git(repository, "for-each-ref") == expected, f"killed at write {at}"
        assert git(repository, "fsck", "--strict") == ""
        assert git(repository, "status", "--porcelain") == ""
