"""What is seen and done after a crash, and that the history comes out as if nothing had happened."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog.testing

from daemon.config_train import TrainSection
from daemon.journal.journal import Journal
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision, RunRecord
from daemon.recovery.hand import recover
from daemon.recovery.look import Place
from daemon.recovery.trees import remove_tree
from daemon.rollouts.receipt import write_receipt
from daemon.tasks.scorers.scorer import Result
from sandboxes.fake import FakeAnswer, FakeSandbox
from sandboxes.left import LeftBox
from sandboxes.sandbox import SandboxError
from skills_repo.history import RepositoryError, SkillHistory
from tests.support.journal import a_key, a_record
from tests.support.optimizer import Killed, MortalJournal, World, WorldHarness, task_set

SKILL = "skills/demo"


def engine(*boxes: LeftBox, broken: str = "") -> FakeSandbox:
    sandbox = FakeSandbox(lambda *_: FakeAnswer(), broken=broken)
    sandbox.left = list(boxes)
    return sandbox


def place(
    state: Path, journal: Journal, sandbox: FakeSandbox | None = None, history: SkillHistory | None = None
) -> Place:
    return Place(state, journal, sandbox, history, SKILL)


async def journal_with(*attempts: str) -> MemoryJournal:
    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "sha256:f", SKILL, "c", "open", 0.0))
    for number, attempt in enumerate(attempts):
        await journal.plan_attempt(attempt, "r1", "t-1", a_key(trial=number))
    return journal


def ended(state: Path, attempt: str, trial: int, *, says: str = "") -> None:
    folder = state / "attempts" / attempt
    folder.mkdir(parents=True)
    write_receipt(folder, a_record(says or attempt, a_key(trial=trial), score=None, hard=None), Result())


async def test_rows_boxes_and_folders_are_brought_together(tmp_path: Path) -> None:
    journal = await journal_with("a-lost", "a-ended", "a-forged")
    ended(tmp_path, "a-ended", 1)
    ended(tmp_path, "a-forged", 2, says="a-other")
    boxes = [LeftBox(f"box-{name}", f"a-{name}", ours=True, running=True) for name in ("lost", "ended", "finished")]
    sandbox = engine(*boxes, LeftBox("stranger", "x", ours=False, running=True))
    done = await recover(place(tmp_path, journal, sandbox))
    assert done.salvage.waiting == {a_key(trial=1).digest: "a-ended"}
    assert done.abandoned == ["a-lost", "a-forged"]
    assert await journal.unfinished_attempts() == ("a-ended",)
    assert done.removed == sandbox.removed == ["box-ended", "box-finished", "box-lost"]
    assert [box.name for box in sandbox.left] == ["stranger"]

    again = await recover(place(tmp_path, journal, sandbox))
    assert (again.abandoned, again.removed) == ([], [])
    assert again.salvage == done.salvage, "it waits until it is asked for"


async def test_scratch_goes_and_what_is_kept_stays(tmp_path: Path) -> None:
    for path in ("scratch/honed-verify-x/tests", "attempts/canary-1/out", "attempts/r1-old", "doors/door-1"):
        (tmp_path / path).mkdir(parents=True)
    journal = await journal_with()
    await recover(place(tmp_path, journal))
    assert sorted(path.name for path in tmp_path.glob("*/*")) == ["door-1", "r1-old"]


async def test_a_cut_evaluation_is_ended_and_a_training_goes_on(tmp_path: Path) -> None:
    journal = await journal_with()
    for run_id, mark in (("e1", "eval selection"), ("e2", "eval test"), ("c1", "calibrate")):
        await journal.open_run(RunRecord(run_id, mark, SKILL, "c", "open", 0.0))
    await journal.end_run("e2", "done")
    for _ in range(2):
        await recover(place(tmp_path, journal))
        assert [run.state for run in await journal.find_runs()] == ["open", "failed", "done", "failed"]


async def test_a_silent_engine_stops_a_verb_and_no_daemon(tmp_path: Path) -> None:
    journal = await journal_with("a-1")
    broken = engine(broken="the engine is restarting")
    with pytest.raises(SandboxError, match="restarting"):
        await recover(place(tmp_path, journal, broken))
    assert await journal.unfinished_attempts() == ("a-1",)
    with structlog.testing.capture_logs() as logs:
        done = await recover(place(tmp_path, journal, broken), engine_required=False)
    assert done.abandoned == ["a-1"]
    assert done.problems == ["the engine does not answer: boxes that were left are looked for again"]
    assert {"event": "engine_not_seen", "log_level": "warning"}.items() <= logs[0].items()
    healed = engine(LeftBox("box", "a-1", ours=True, running=True))
    assert (await recover(place(tmp_path, journal, healed))).removed == ["box"]


async def test_a_box_that_stays_is_said_and_stops_nothing_else(tmp_path: Path) -> None:
    class Stubborn(FakeSandbox):
        async def remove(self, name: str) -> bool:
            if name == "one":
                raise SandboxError("container one is left: device busy")
            return await super().remove(name)

    sandbox = Stubborn(lambda *_: FakeAnswer())
    sandbox.left = [LeftBox(name, name, ours=True, running=True) for name in ("one", "two")]
    done = await recover(place(tmp_path, await journal_with(), sandbox))
    assert done.removed == ["two"]
    assert done.problems == ["container one is left: device busy"]


def learns(folder: Path) -> World:
    """Every task needs both rules; each of two steps adds one, and the gate takes both."""
    tasks = task_set(2, 2, 1)
    needs = {task.id: ["rule-a", "rule-b"] if task.id.endswith("1") else ["rule-a"] for task in tasks.tasks}
    knobs = {"epochs": 1, "batch": 1, "minibatch": 1, "edit_budget": 1, "min_edit_budget": 1, "gate": "strict"}
    return World(folder / "attempts", WorldHarness(needs), tasks, train=TrainSection.model_validate(knobs), workers=1)


async def undisturbed(folder: Path) -> tuple[World, int]:
    world = learns(folder)
    counting = MortalJournal(world.journal)
    world.journal = counting
    await world.training().run()
    return world, counting.writes


async def story(world: World) -> tuple[list[str], list[tuple[int, str, dict[str, object]]]]:
    """Commits of the branch, and every decision without what it cost."""
    commits = [commit.sha for commit in await world.history.log()]
    [run] = await world.journal.find_runs()
    decisions = await world.journal.decisions(run.run_id)
    return commits, [(one.step, one.kind, dict(one.payload)) for one in decisions if one.kind != "final"]


@pytest.mark.usefixtures("quiet")
async def test_killed_at_any_write_the_history_is_that_of_an_undisturbed_run(tmp_path: Path) -> None:
    """Every edge between two rows, before the row and after it; then recovery, and the same command again."""
    whole, writes = await undisturbed(tmp_path / "whole")
    expected = await story(whole)
    assert len(expected[0]) > 2
    collected = resumed = 0
    for at in range(1, writes + 1):
        for before in (True, False) if at % 3 == 0 else (True,):
            world = learns(tmp_path / f"{at}-{before}")
            memory = world.journal
            world.journal = MortalJournal(memory, at, before=before)
            with pytest.raises(Killed):
                await world.training().run()
            world.journal = memory
            done = await recover(place(world.folder.parent, memory, history=world.history))
            world.salvage, waited = done.salvage, len(done.salvage.waiting)
            if not any(run.state == "done" for run in await memory.find_runs()):
                await world.training().run()
            assert await story(world) == expected, (at, before)
            assert await memory.unfinished_attempts() == ()
            collected, resumed = collected + waited, resumed + len(done.resume)
    assert resumed, "some died between a decision and its commit"
    assert collected, "some died while they scored"


async def accepted(journal: Journal, history: SkillHistory) -> tuple[str, int]:
    """A run with an accepted step on the branch: its id, and the step."""
    [run] = await journal.find_runs()
    steps = [one for one in await journal.decisions(run.run_id) if one.kind == "step"]
    step = next(one.step for one in steps if one.payload["outcome"] == "accepted")
    assert await history.find_step(run.run_id, step)
    return run.run_id, step


class Dies(MemoryJournal):
    """A journal whose process dies instead of noting commits."""

    def __init__(self) -> None:
        super().__init__()
        self.dead = True

    async def save_decision(self, decision: Decision) -> None:
        if decision.kind == "commits" and self.dead:
            raise Killed
        await super().save_decision(decision)


async def test_commits_that_stand_are_noted(tmp_path: Path) -> None:
    world = learns(tmp_path)
    world.journal = journal = Dies()
    with pytest.raises(Killed):
        await world.training().run()
    journal.dead = False
    run_id, step = await accepted(journal, world.history)
    assert await journal.find_decision(run_id, step, "commits") is None
    done = await recover(place(tmp_path, journal, history=world.history))
    assert done.resume == done.dropped == []
    note = await journal.find_decision(run_id, step, "commits")
    assert note is not None
    assert note.payload["commits"] == list(await world.history.find_step(run_id, step))
    await world.training().run()
    assert await story(world) == await story((await undisturbed(tmp_path / "whole"))[0])


async def test_commits_that_a_person_took_off_are_not_put_back(tmp_path: Path) -> None:
    world = learns(tmp_path)
    mortal = MortalJournal(world.journal)
    memory, world.journal = world.journal, mortal
    save = memory.save_decision

    async def last(decision: Decision) -> None:
        await save(decision)
        mortal.dead = decision.kind == "commits"

    memory.save_decision = last  # type: ignore[method-assign]
    base = await world.history.base()
    with pytest.raises(Killed):
        await world.training().run()
    world.history.move_branch(base)  # type: ignore[attr-defined]
    [run] = await memory.find_runs()
    done = await recover(place(tmp_path, memory, history=world.history))
    assert (done.dropped, done.resume) == ([run.run_id], [])


async def test_a_repository_that_is_gone_proves_nothing(tmp_path: Path) -> None:
    world = learns(tmp_path)
    world.journal = Dies()
    with pytest.raises(Killed):
        await world.training().run()

    async def gone(*_: object, **__: object) -> tuple[str, ...]:
        raise RepositoryError("no repository here")

    world.history.find_step = gone  # type: ignore[method-assign]
    with structlog.testing.capture_logs() as logs:
        done = await recover(place(tmp_path, world.journal, history=world.history))
    assert (done.dropped, done.resume, done.problems) == ([], [], [])
    assert [row["event"] for row in logs] == ["repository_not_read"]


def test_a_hostile_tree_is_removed_and_what_it_points_to_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("stays")
    tree = tmp_path / "tree"
    (tree / "closed" / "deep").mkdir(parents=True)
    (tree / "link").symlink_to(outside)
    (tree / "closed" / "deep" / "x").write_text("x")
    (tree / "closed").chmod(0)
    assert remove_tree(tree) == ""
    assert not tree.exists()
    link = tmp_path / "link"
    link.symlink_to(outside)
    assert remove_tree(link) == ""
    assert (outside / "file").read_text() == "stays"
    assert remove_tree(tmp_path / "nothing") == ""
