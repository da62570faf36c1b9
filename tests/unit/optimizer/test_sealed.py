"""The sealed test: reserved first, scored once, reachable from here alone."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import daemon
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import Decision, RunRecord
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.sealed import SealedTest
from daemon.rollouts.stop import RunStopped
from harnesses.outcome import Outcome
from tests.support.optimizer import Killed, MortalJournal, World, WorldHarness, make_skill, task_set

INITIAL, BEST = make_skill(), make_skill("- rule-a")


async def made(folder: Path, journal: MemoryJournal | None = None) -> tuple[SealedTest, World]:
    tasks = task_set(1, 1, 3)
    world = World(folder, WorldHarness({f"test-0{i}": ["rule-a"] for i in range(3)}), tasks)
    if journal is None:
        journal = MemoryJournal()
        await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    world.journal = journal
    return SealedTest(journal, world.rollouts(), tasks, GateRule(), "r1", step=9), world


async def test_before_and_after_on_the_test_split_alone(tmp_path: Path) -> None:
    sealed, world = await made(tmp_path)
    before, after = await sealed.report(INITIAL, BEST, lambda: 1.0)
    assert (before.score, before.n, before.of) == (0.0, 3, 3)
    assert (after.score, after.hard, after.soft) == (1.0, 1.0, 1.0)
    assert {task_id for _, task_id in world.harness.runs} == {"test-00", "test-01", "test-02"}


async def test_a_task_that_is_invalid_under_one_skill_counts_for_neither(tmp_path: Path) -> None:
    """Left out of one side alone, an easy task that could not be measured would look like a gain."""
    sealed, world = await made(tmp_path)
    world.harness.needs = {"test-01": ["rule-never"], "test-02": ["rule-never"]}
    world.harness.failures["test-00"] = [Outcome.VERIFIER_FAILED]  # under the initial skill alone
    before, after = await sealed.report(INITIAL, BEST, lambda: 1.0)
    assert (before.score, before.n, before.of) == (0.0, 2, 3)
    assert (after.score, after.n, after.of) == (0.0, 2, 3)


async def test_an_unchanged_skill_is_scored_once(tmp_path: Path) -> None:
    sealed, world = await made(tmp_path)
    before, after = await sealed.report(INITIAL, INITIAL, lambda: 1.0)
    assert before == after
    assert sum(world.harness.runs.values()) == 3


async def test_the_reservation_stands_before_the_first_attempt(tmp_path: Path) -> None:
    """Fault of a peer: a finalize that crashed scored the test again."""
    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    tasks = task_set(1, 1, 3)
    world = World(tmp_path, WorldHarness(), tasks)
    world.journal = MortalJournal(journal, 3)  # the reservation, one plan, death
    sealed = SealedTest(world.journal, world.rollouts(), tasks, GateRule(), "r1", step=9)
    with pytest.raises(Killed):
        await sealed.report(INITIAL, BEST, lambda: 1.0)
    found = await journal.find_decision("r1", 9, "test_reserved")
    assert found is not None
    assert found.payload == {"initial": INITIAL.digest, "best": BEST.digest}
    assert await journal.find_decision("r1", 9, "final") is None


async def test_a_report_that_stands_is_read_back(tmp_path: Path) -> None:
    sealed, world = await made(tmp_path)
    first = await sealed.report(INITIAL, BEST, lambda: 1.0)
    runs = world.harness.runs.copy()
    assert await sealed.report(INITIAL, BEST, lambda: 2.0) == first
    assert world.harness.runs == runs


async def test_a_reservation_for_other_skills_is_never_used(tmp_path: Path) -> None:
    sealed, world = await made(tmp_path)
    await world.journal.save_decision(Decision("r1", 9, "test_reserved", {"initial": "x", "best": "y"}))
    with pytest.raises(RunStopped, match="reserved its test for other skills"):
        await sealed.report(INITIAL, BEST, lambda: 1.0)
    assert world.harness.runs == {}


def test_nothing_but_reports_and_the_firewall_opens_the_test_split() -> None:
    root = Path(daemon.__file__).parent
    users = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "open_test":
                users.add(path.relative_to(root).as_posix())
    optimizer = {user for user in users if user.startswith(("optimizer/", "rollouts/"))}
    assert optimizer == {"optimizer/sealed.py", "optimizer/evaluate.py", "optimizer/firewall/index.py"}
