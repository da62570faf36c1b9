"""An attempt that ended under an honed that was killed while it scored: scored later, and not paid for again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from daemon.budget.capped import CappedPurse
from daemon.budget.totals import PricedModel
from daemon.config_train import BudgetSection
from daemon.journal.memory import MemoryJournal
from daemon.journal.records import AttemptRecord, RunRecord
from daemon.rollouts.receipt import NAME, read_receipt, result_of, write_receipt
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.salvage import Salvage
from daemon.tasks.scorers.scorer import Result, VerifierError
from daemon.tasks.task import Score, Task
from harnesses.episode import EpisodeStatus
from harnesses.harness import Assignment, Attempt
from harnesses.outcome import Outcome
from sandboxes.collect import collect
from sandboxes.gateway.policy import Price
from sandboxes.sandbox import Limits
from tests.support.journal import a_record, an_invalid
from tests.support.optimizer import WorldHarness, make_skill, make_task, no_wait

RUN = "r1"
TASK = make_task("t0")
WON = EpisodeStatus(won=True, over=True, commands=3, moves=2)


class Worker(WorldHarness):
    """Works in the attempt's own folder, as agents in boxes do, and plays an episode."""

    async def run(self, assignment: Assignment) -> Attempt:
        attempt = await super().run(assignment)
        workspace = assignment.folder / "workspace"
        (workspace / "deep").mkdir(parents=True)
        (workspace / "deep" / "out.bin").write_bytes(b"\x00\xff" + assignment.task_id.encode())
        (workspace / "link").symlink_to("/etc/passwd")
        return replace(attempt, workspace=collect(workspace, Limits()), episode=WON)


class Verifiers:
    """Scores by the workspace, or never comes to an end."""

    def __init__(self) -> None:
        self.hangs = True
        self.reached = asyncio.Event()
        self.seen: list[Result] = []

    async def __call__(self, task: Task, result: Result) -> Score:
        self.seen.append(result)
        self.reached.set()
        if self.hangs:
            await asyncio.Event().wait()
        solved = result.workspace.files["deep/out.bin"].endswith(task.id.encode()) and result.episode == WON
        return Score(float(solved), solved)


class Life:
    """One honed after another over the same journal and folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = MemoryJournal()
        self.harness = Worker()
        self.verifier: Any = Verifiers()

    async def start(self) -> Life:
        await self.journal.open_run(RunRecord(RUN, "f", "demo", "c", "open", 0.0))
        return self

    def rollouts(self, **options: Any) -> Rollouts:
        return Rollouts(
            self.harness, self.verifier, self.journal, attempts_folder=self.folder, sleep=no_wait, **options
        )

    async def die_while_scoring(self) -> str:
        """The id of the attempt that it leaves."""
        scoring = asyncio.create_task(self.rollouts().score(make_skill(), [TASK], run_id=RUN))
        await self.verifier.reached.wait()
        scoring.cancel()
        await asyncio.wait({scoring})
        self.verifier.hangs = False
        [left] = await self.journal.unfinished_attempts()
        return left

    async def go_on(self, left: str, **options: Any) -> AttemptRecord:
        receipt = read_receipt(self.folder / left)
        assert receipt is not None
        salvage = Salvage.of({receipt.record.key: left})
        [result] = await self.rollouts(salvage=salvage, **options).score(make_skill(), [TASK], run_id=RUN)
        return result.record


@pytest.fixture
async def life(tmp_path: Path) -> Life:
    return await Life(tmp_path).start()


def without_id(record: AttemptRecord) -> dict[str, Any]:
    return {**asdict(record), "attempt_id": ""}


async def test_it_is_scored_as_if_nothing_had_happened_and_not_run_again(life: Life, tmp_path: Path) -> None:
    left = await life.die_while_scoring()
    record = await life.go_on(left)
    assert record.attempt_id == left
    assert record.hard
    assert sum(life.harness.runs.values()) == 1
    before, after = life.verifier.seen
    assert before == after, "the verifier sees the same files, and the same things left out"
    assert await life.journal.unfinished_attempts() == ()

    undisturbed = await Life(tmp_path / "other").start()
    undisturbed.verifier.hangs = False
    [other] = await undisturbed.rollouts().score(make_skill(), [TASK], run_id=RUN)
    assert without_id(record) == without_id(other.record)


async def test_what_is_collected_is_found_by_its_content_from_then_on(life: Life) -> None:
    left = await life.die_while_scoring()
    await life.go_on(left)
    [again] = await life.rollouts().score(make_skill(), [TASK], run_id=RUN)
    assert again.reused
    assert again.record.attempt_id == left


def _changed(folder: Path) -> None:
    (folder / "workspace" / "deep" / "out.bin").write_bytes(b"forged t0")


def _more(folder: Path) -> None:
    (folder / "workspace" / "more").write_bytes(b"")


def _gone(folder: Path) -> None:
    (folder / "workspace" / "link").unlink()


def _no_receipt(folder: Path) -> None:
    (folder / NAME).unlink()


def _half(folder: Path) -> None:
    (folder / NAME).write_text((folder / NAME).read_text()[:-9])


def _newer(folder: Path) -> None:
    (folder / NAME).write_text(json.dumps({**json.loads((folder / NAME).read_text()), "format": 99}))


@pytest.mark.parametrize("harm", [_changed, _more, _gone, _no_receipt, _half, _newer])
async def test_what_is_not_whole_is_abandoned_and_run_anew(life: Life, harm: Callable[[Path], None]) -> None:
    left = await life.die_while_scoring()
    receipt = read_receipt(life.folder / left)
    assert receipt is not None
    harm(life.folder / left)
    salvage = Salvage.of({receipt.record.key: left})
    [result] = await life.rollouts(salvage=salvage).score(make_skill(), [TASK], run_id=RUN)
    assert result.valid
    assert result.record.attempt_id != left
    assert sum(life.harness.runs.values()) == 2
    assert await life.journal.unfinished_attempts() == ()


async def test_another_skill_or_task_takes_nothing(life: Life) -> None:
    left = await life.die_while_scoring()
    receipt = read_receipt(life.folder / left)
    assert receipt is not None
    rollouts = life.rollouts(salvage=Salvage.of({receipt.record.key: left}))
    await rollouts.score(make_skill("other"), [TASK], run_id=RUN)
    await rollouts.score(make_skill(), [make_task("t1")], run_id=RUN)
    assert await life.journal.unfinished_attempts() == (left,), "it waits on"


async def test_it_is_given_out_once() -> None:
    salvage = Salvage.of({"k": "a"})
    assert (salvage.take("k"), salvage.take("k"), salvage.take("other")) == ("a", None, None)


async def test_a_verifier_that_fails_runs_no_agent_again(life: Life) -> None:
    left = await life.die_while_scoring()

    async def broken(task: Task, result: Result) -> Score:
        raise VerifierError("the test script is gone")

    life.verifier = broken
    record = await life.go_on(left)
    assert (record.outcome, record.score) == (Outcome.VERIFIER_FAILED, None)
    assert sum(life.harness.runs.values()) == 1


async def test_a_failure_of_ours_leaves_no_receipt(life: Life) -> None:
    life.harness.failures = {"t0": [Outcome.SANDBOX_LOST]}
    life.verifier.hangs = False
    await life.rollouts().score(make_skill(), [TASK], run_id=RUN)
    lost, fine = (record.attempt_id for record in await life.journal.attempts(RUN))
    assert read_receipt(life.folder / lost) is None
    assert read_receipt(life.folder / fine) is not None


async def test_it_counts_once_as_an_attempt_and_with_what_it_used(life: Life) -> None:
    left = await life.die_while_scoring()
    budget = BudgetSection.model_validate({"run": {"attempts": 1, "tokens": 1000}})
    purse = CappedPurse(budget, life.journal, {"target": PricedModel("m", Price(1.0, 1.0, 1.0))})
    await purse.begin_run(RUN)
    assert purse._run is not None
    assert (purse._run.spent.attempts, purse._run.spent.tokens) == (1, 0)
    record = await life.go_on(left, purse=purse)
    assert record.hard, "the cap is used up, and what was begun within it is finished"
    assert (purse._run.spent.attempts, purse._run.spent.tokens) == (1, 15)


def test_a_receipt_comes_back_as_it_was_written_for_its_owner_alone(tmp_path: Path) -> None:
    record = replace(an_invalid("a-1"), outcome="completed", final_answer="üñí \ud800", detail="")
    write_receipt(tmp_path, record, Result(record.final_answer))
    receipt = read_receipt(tmp_path)
    assert receipt is not None
    assert (receipt.record, receipt.episode) == (record, None)
    assert result_of(tmp_path, receipt) == Result(record.final_answer)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / NAME]


def test_a_disk_that_refuses_costs_the_receipt_alone(tmp_path: Path) -> None:
    write_receipt(tmp_path / "gone", a_record("a-1", score=None, hard=None), Result())
    assert read_receipt(tmp_path / "gone") is None
    (tmp_path / NAME).mkdir()
    assert read_receipt(tmp_path) is None
