from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.tasks.benchmarks.bench_set import open_bench
from daemon.tasks.benchmarks.catalogue import benchmark
from daemon.tasks.load import load_tasks, read_set
from daemon.tasks.prove import Proof, Verdict, prove
from daemon.tasks.proving import prove_all
from daemon.tasks.scorers.scorer import Context
from daemon.tasks.task import Environment, Task
from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.sandbox import Command, Ending, Root
from tests.support.episodes import HEAT, WINS, put_game
from tests.support.tasks import GOLDEN, book, task_for


def scripted(tmp_path: Path, **fields: Any) -> Task:
    for name in ("solve.sh", "test.sh"):
        (tmp_path / name).write_text("#!/bin/bash\n")
    files = {"solution": {"solve.sh": tmp_path / "solve.sh"}, "tests": {"test.sh": tmp_path / "test.sh"}}
    return task_for("test_script", **(files | fields))


class World:
    """Plays the solution and the tests: the reward is what is said for a workspace with and without the answer."""

    def __init__(self, solved: str = "1", unsolved: str = "0", **solve: Any) -> None:
        self.rewards = {True: solved, False: unsolved}
        self.solve = solve
        self.roots: list[Root | None] = []

    def __call__(self, box: FakeBox, command: Command) -> FakeAnswer:
        self.roots.append(box.spec.root)
        if command.argv[-1].endswith("solve.sh"):
            (box.workspace / "answer.txt").write_text("42")
            return FakeAnswer(**self.solve)
        reward = self.rewards[(box.workspace / "answer.txt").exists()]
        if reward:
            (box.out / "reward.txt").write_text(reward)
        return FakeAnswer(stderr=b"assert 1 == 2")


def proved(task: Task, world: World | None = None, tmp_path: Path | None = None) -> Proof:
    return asyncio.run(prove(task, Context(FakeSandbox(world) if world else None, tmp_path)))


def test_a_sound_script_task(tmp_path: Path) -> None:
    proof = proved(scripted(tmp_path), World(), tmp_path)
    assert (proof.verdict, proof.oracle, proof.nothing, proof.detail) == (Verdict.PROVED, 1.0, 0.0, "")


@pytest.mark.parametrize(
    ("world", "verdict", "oracle", "nothing", "detail"),
    [
        (
            World(solved="0.5"),
            Verdict.ORACLE_FAILS,
            0.5,
            0.0,
            "the task's checks did not all pass (tests end: 'assert 1",
        ),
        (World(unsolved="1"), Verdict.NOTHING_PASSES, 1.0, 1.0, "an agent that does nothing scores 1"),
        (World(unsolved="0.2"), Verdict.NOTHING_PASSES, 1.0, 0.2, "an agent that does nothing scores 0.2"),
        (World(solved=""), Verdict.UNSCORED, None, 0.0, "the solution: task t: the test script wrote neither"),
        (World(unsolved=""), Verdict.UNSCORED, None, None, "nothing: task t: the test script wrote neither"),
        (World(solved="0", exit_code=3, stderr=b"no net"), Verdict.ORACLE_FAILS, 0.0, 0.0, "stderr ends: 'no net')"),
        (World(ending=Ending.DEADLINE), Verdict.ORACLE_FAILS, None, 0.0, "the solution ran out of its 600 s"),
        (World(ending=Ending.LOST, detail="gone"), Verdict.NOT_RUN, None, 0.0, "the solution ended by lost gone"),
    ],
)
def test_what_is_wrong_is_said_as_what_it_is(
    tmp_path: Path, world: World, verdict: Verdict, oracle: float | None, nothing: float | None, detail: str
) -> None:
    proof = proved(scripted(tmp_path), world, tmp_path)
    assert (proof.verdict, proof.oracle, proof.nothing) == (verdict, oracle, nothing)
    assert detail in proof.detail
    assert not proof.verdict.sound


def test_a_task_that_wants_the_network_is_told_that_there_is_none(tmp_path: Path) -> None:
    wants = scripted(tmp_path, network="allowed")
    assert "put what it fetches into its image" in proved(wants, World(solved="0"), tmp_path).detail


def test_a_sandbox_that_fails_says_nothing_of_the_task(tmp_path: Path) -> None:
    broken = FakeSandbox(World(), broken="no engine")
    proof = asyncio.run(prove(scripted(tmp_path), Context(broken, tmp_path)))
    assert (proof.verdict, proof.nothing) == (Verdict.NOT_RUN, None)
    assert "no engine" in proof.detail
    without = proved(task_for("exact_match", "x", solution=scripted(tmp_path).solution))
    assert without.verdict is Verdict.NOT_RUN


def test_solution_and_tests_run_in_the_tasks_own_image(tmp_path: Path) -> None:
    root, world = Root("sha256:1", "/app", "/app", env={"LANG": "C"}), World()
    proved(scripted(tmp_path, root=root), world, tmp_path)
    assert world.roots == [root, root, root]


@pytest.mark.parametrize(
    ("task", "verdict"),
    [
        (task_for("exact_match", ["Lima", "Ciudad de Lima"]), Verdict.PROVED),
        (task_for("numeric", "36,080 million"), Verdict.PROVED),
        (task_for("numeric", 5, options={"answer_tag": None}), Verdict.PROVED),
        (task_for("exact_match", "x", options={"extract": "a(.*)b"}), Verdict.HALF),
    ],
)
def test_the_answer_stands_in_for_a_solution(task: Task, verdict: Verdict) -> None:
    assert proved(task).verdict is verdict


def test_a_workbook_that_is_right_from_the_start_is_found(tmp_path: Path) -> None:
    for name, value in (("gold.xlsx", 2), ("same.xlsx", 2), ("half.xlsx", 1)):
        (tmp_path / name).write_bytes(book(A1=value, A2=3))
    options = {"output": "out.xlsx", "gold": "gold.xlsx", "range": "Sheet1!A1:A2"}
    task = task_for("spreadsheet_cells", tests={"gold.xlsx": tmp_path / "gold.xlsx"}, options=options)
    assert proved(task).verdict is Verdict.PROVED
    assert proved(replace(task, files={"out.xlsx": tmp_path / "same.xlsx"})).verdict is Verdict.NOTHING_PASSES
    half = proved(replace(task, files={"out.xlsx": tmp_path / "half.xlsx"}))
    assert (half.verdict, half.detail) == (Verdict.PROVED, "an agent that does nothing scores 0.5 of 1")


async def test_a_set_is_proved_in_order_and_judged_tasks_are_left_out(tmp_path: Path) -> None:
    judged = task_for("rubric", id="j", options={"criteria": [{"name": "a", "text": "b"}]})
    imaged = task_for("exact_match", "x", id="i", environment=Environment(image="x"))
    given = [*load_tasks(GOLDEN / "qa").tasks[:3], judged, imaged]

    async def each() -> AsyncIterator[Task]:
        for task in given:
            yield task

    proofs = [one async for one in prove_all(each(), Context(), images=None, folder=tmp_path, workers=2)]
    assert [proof.task for proof in proofs] == [task.id for task in given if task.id != "j"]
    assert (proofs[-1].verdict, proofs[-1].detail) == (
        Verdict.NOT_RUN,
        "its image needs a Docker engine: see `honed doctor`",
    )


def test_the_committed_harbor_tasks_have_their_solutions() -> None:
    assert all("solve.sh" in task.solution for task in read_set(GOLDEN / "harbor").held)


@pytest.mark.parametrize(
    ("reply", "verdict", "oracle"),
    [("aXb", Verdict.PROVED, 1.0), ("aYb", Verdict.ORACLE_FAILS, 0.0)],
)
def test_a_solution_that_is_a_text_is_what_a_right_agent_says(reply: str, verdict: Verdict, oracle: float) -> None:
    proof = proved(task_for("exact_match", "X", reply=reply, options={"extract": "a(.*)b"}))
    assert (proof.verdict, proof.oracle, proof.nothing) == (verdict, oracle, 0.0)
    wanted = {"all": ["CASE-\\d+"]}
    assert proved(task_for("regex", options=wanted)).verdict is Verdict.HALF
    assert proved(task_for("regex", reply="It is CASE-7.", options=wanted)).verdict is Verdict.PROVED


def test_a_solution_of_files_is_what_a_right_agent_leaves(tmp_path: Path) -> None:
    (tmp_path / "day.md").write_text("# Monday\n")
    checks = {"checks": [{"path": "notes/day.md", "contains": ["Monday"]}, {"path": "in.txt", "exists": True}]}
    (tmp_path / "in.txt").write_text("given")
    given = task_for("file_checks", options=checks, files={"in.txt": tmp_path / "in.txt"})
    solved = replace(given, solution={"notes/day.md": tmp_path / "day.md"})
    assert (proved(solved).verdict, proved(solved).oracle, proved(solved).nothing) == (Verdict.PROVED, 1.0, 0.5)
    assert proved(replace(given, solution={"day.md": tmp_path / "day.md"})).verdict is Verdict.ORACLE_FAILS


async def test_without_boxes_only_what_needs_none_is_tried(tmp_path: Path) -> None:
    script, plain = scripted(tmp_path, id="s"), task_for("exact_match", "x", id="p")
    imaged = task_for("exact_match", "x", id="i", environment=Environment(image="x"))

    async def each() -> AsyncIterator[Task]:
        for task in (script, imaged, replace(plain, solution=script.solution), plain):
            yield task

    proofs = [one async for one in prove_all(each(), Context(), images=None, folder=tmp_path, workers=2, boxes=False)]
    assert [(proof.task, proof.verdict) for proof in proofs] == [("p", Verdict.PROVED)]


def game_task(file: Path, **options: Any) -> Task:
    chosen = {"engine": "household", "game": file.name} | options
    return task_for("episode_won", tests={file.name: file}, options=chosen)


def test_a_games_walkthrough_is_its_solution(tmp_path: Path) -> None:
    won = proved(game_task(put_game(tmp_path, HEAT | {"walkthrough": WINS})))
    assert (won.verdict, won.oracle, won.nothing, won.detail) == (Verdict.PROVED, 1.0, 0.0, "")
    untold = proved(game_task(put_game(tmp_path)))
    assert (untold.verdict, untold.oracle, untold.nothing) == (Verdict.HALF, None, 0.0)


@pytest.mark.parametrize(
    ("game", "options", "verdict", "nothing", "detail"),
    [
        (HEAT | {"walkthrough": WINS[:-1]}, {}, Verdict.ORACLE_FAILS, 0.0, "after 6 commands, not won (by its walk"),
        (HEAT | {"walkthrough": WINS}, {"max_commands": 6}, Verdict.ORACLE_FAILS, 0.0, "not won within its 6 commands"),
        (HEAT | {"walkthrough": "look"}, {}, Verdict.UNSCORED, None, "no walkthrough that can be read"),
        (HEAT | {"places": []}, {}, Verdict.UNSCORED, None, "the game failed: ValidationError"),
        (
            {"goal": HEAT["goal"] | {"kind": "put"}, "places": [{"name": "drawer 1", "holds": ["mug 1"]}]},
            {},
            Verdict.NOTHING_PASSES,
            1.0,
            "an agent that does nothing scores 1",
        ),
    ],
)
def test_what_is_wrong_with_a_game(
    tmp_path: Path,
    game: dict[str, Any],
    options: dict[str, Any],
    verdict: Verdict,
    nothing: float | None,
    detail: str,
) -> None:
    proof = proved(game_task(put_game(tmp_path, game), **options))
    assert (proof.verdict, proof.nothing) == (verdict, nothing)
    assert detail in proof.detail


def test_a_game_that_the_machine_does_not_start_says_nothing_of_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    proof = proved(game_task(put_game(tmp_path)))
    assert (proof.verdict, proof.nothing) == (Verdict.NOT_RUN, None)
    assert "the game's process does not start" in proof.detail


async def test_the_samples_games_are_proved() -> None:
    tasks = open_bench(benchmark("alfworld"), benchmark("alfworld").sample).tasks.tasks

    async def each() -> AsyncIterator[Task]:
        for task in tasks:
            yield task

    proofs = [one async for one in prove_all(each(), Context(), images=None, folder=Path(), workers=2, boxes=False)]
    assert len(proofs) == 8
    assert {(proof.verdict, proof.oracle, proof.nothing) for proof in proofs} == {(Verdict.PROVED, 1.0, 0.0)}
