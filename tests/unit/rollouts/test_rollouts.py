"""Scoring tasks: order, bounds, reuse, retries, and what stops a run."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
import structlog.testing

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.rollouts.attempt import AttemptSettings
from daemon.rollouts.progress import AttemptFinished, AttemptStarted
from daemon.rollouts.result import TaskResult, paid
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from daemon.tasks.scorers.scorer import JudgedScore, Result, VerifierError
from daemon.tasks.task import Score, Task
from harnesses.harness import Assignment, Attempt, ChatTools
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import Usage
from tests.support.optimizer import Heard, WorldHarness, make_skill, make_task, no_wait, verify
from tests.support.waiting import PATIENCE_S

RUN = "r1"
TASKS = [make_task(f"t{i}") for i in range(6)]


class Bench:
    """Rollouts on a world, with everything at hand."""

    def __init__(self, folder: Path, harness: WorldHarness | None = None, **options: Any) -> None:
        self.folder = folder
        self.harness = harness or WorldHarness()
        self.journal = options.pop("journal", None) or MemoryJournal()
        self.heard = Heard()
        self.verifier = options.pop("verifier", verify)
        options = {"sleep": no_wait, "observer": self.heard, **options}
        self.rollouts = Rollouts(self.harness, self.verifier, self.journal, attempts_folder=folder, **options)

    async def open(self) -> Bench:
        await self.journal.open_run(RunRecord(RUN, "f", "demo", "c", "open", 0.0))
        return self

    async def score(self, tasks: Sequence[Task] = TASKS, **options: Any) -> tuple[TaskResult, ...]:
        return await self.rollouts.score(make_skill(), tasks, run_id=RUN, **options)


async def test_results_come_by_task_id_whoever_ends_first(tmp_path: Path) -> None:
    for seed in range(5):
        bench = await Bench(tmp_path, WorldHarness(chaos=random.Random(seed)), workers=4).open()
        results = await bench.score(TASKS[::-1])
        assert [result.task_id for result in results] == [task.id for task in TASKS]


async def test_the_tools_of_a_task_reach_the_harness(tmp_path: Path) -> None:
    class Asking(WorldHarness):
        given: ChatTools | None = None

        async def run(self, assignment: Assignment) -> Attempt:
            self.given = assignment.tools
            return await super().run(assignment)

    tools = ChatTools("files", turns=7)
    bench = await Bench(tmp_path, Asking()).open()
    await bench.score([replace(TASKS[0], tools=tools)])
    assert isinstance(bench.harness, Asking)
    assert bench.harness.given is tools


@pytest.mark.parametrize("workers", [1, 3])
async def test_as_many_attempts_run_at_once_as_there_are_workers_and_no_more(tmp_path: Path, workers: int) -> None:
    full = asyncio.Event()

    class Crowd(WorldHarness):
        async def run(self, assignment: Assignment) -> Attempt:
            self.running += 1
            self.most_running = max(self.most_running, self.running)
            if self.running == workers:
                full.set()
            await full.wait()
            await asyncio.sleep(0.01)
            self.running -= 1
            return await super().run(assignment)

    bench = await Bench(tmp_path, Crowd(), workers=workers).open()
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.gather(bench.score(TASKS[:3]), bench.score(TASKS[3:]))
    assert bench.harness.most_running == workers


async def test_equal_content_is_read_back_not_run_again(tmp_path: Path) -> None:
    bench = await Bench(tmp_path).open()
    first = await bench.score()
    second = await bench.score()
    assert not any(result.reused for result in first)
    assert all(result.reused for result in second)
    assert [a.record for a in first] == [b.record for b in second]
    assert set(bench.harness.runs.values()) == {1}
    assert paid(first) == Usage(6, 60, 0, 30, 1.5)
    assert paid(second) == Usage()


async def test_equal_content_in_flight_is_run_once(tmp_path: Path) -> None:
    bench = await Bench(tmp_path, WorldHarness(chaos=random.Random(2)), workers=8).open()
    first, second = await asyncio.gather(bench.score(), bench.score())
    assert [a.record for a in first] == [b.record for b in second]
    assert set(bench.harness.runs.values()) == {1}


async def test_another_trial_skill_or_setting_is_other_content(tmp_path: Path) -> None:
    bench = await Bench(tmp_path).open()
    await bench.score(TASKS[:1])
    await bench.score(TASKS[:1], trial=1)
    await bench.rollouts.score(make_skill("other"), TASKS[:1], run_id=RUN)
    await bench.rollouts.score(None, TASKS[:1], run_id=RUN)
    other = Bench(tmp_path, bench.harness, journal=bench.journal, settings=AttemptSettings(image_digest="sha256:other"))
    await other.score(TASKS[:1])
    assert sum(bench.harness.runs.values()) == 5


async def test_a_failure_of_ours_is_tried_again_and_then_scored(tmp_path: Path) -> None:
    harness = WorldHarness(failures={"t0": [Outcome.SANDBOX_LOST, Outcome.OUT_OF_MEMORY]})
    bench = await Bench(tmp_path, harness).open()
    [result] = await bench.score(TASKS[:1])
    assert result.valid
    assert result.solved
    assert [record.outcome for record in await bench.journal.attempts(RUN)] == [
        "sandbox_lost",
        "out_of_memory",
        "completed",
    ]
    assert [event.number for event in bench.heard.events if isinstance(event, AttemptStarted)] == [1, 2, 3]


async def test_tries_are_bounded_and_end_invalid_without_a_score(tmp_path: Path) -> None:
    harness = WorldHarness(failures={"t0": [Outcome.OUT_OF_MEMORY] * 9})
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    bench = await Bench(tmp_path, harness, settings=AttemptSettings(tries=4, backoff_s=10.0), sleep=sleep).open()
    [result] = await bench.score(TASKS[:1])
    assert not result.valid
    assert result.record.score is None
    assert len(await bench.journal.attempts(RUN)) == 4
    assert waits == [10.0, 20.0, 30.0]
    with pytest.raises(ValueError, match="out_of_memory"):
        _ = result.score


async def test_invalid_results_are_never_remembered_as_results(tmp_path: Path) -> None:
    harness = WorldHarness(failures={"t0": [Outcome.OUT_OF_MEMORY] * 3})
    bench = await Bench(tmp_path, harness).open()
    [first] = await bench.score(TASKS[:1])
    [second] = await bench.score(TASKS[:1])
    assert (first.valid, second.valid, second.reused) == (False, True, False)


@pytest.mark.parametrize("outcome", [Outcome.AGENT_DEADLINE, Outcome.AGENT_TURNS, Outcome.AGENT_EMPTY])
async def test_the_agents_own_limits_are_scored(tmp_path: Path, outcome: Outcome) -> None:
    bench = await Bench(tmp_path, WorldHarness({"t0": ["rule-a"]}, failures={"t0": [outcome]})).open()
    [result] = await bench.score(TASKS[:1])
    assert (result.valid, result.score, result.record.outcome) == (True, 0.0, outcome)


@pytest.mark.parametrize(
    ("outcome", "remedy"),
    [(Outcome.AUTH, "check the API key"), (Outcome.MODEL_NOT_FOUND, r"check \[target\] model")],
)
async def test_what_no_retry_mends_stops_the_run_in_one_line(tmp_path: Path, outcome: Outcome, remedy: str) -> None:
    harness = WorldHarness(failures={"t2": [outcome]})
    bench = await Bench(tmp_path, harness, workers=1).open()
    with pytest.raises(RunStopped, match=rf"fakeprovider/fake-1: {outcome} on task t2.*{remedy}") as stopped:
        await bench.score()
    assert "\n" not in str(stopped.value)
    records = await bench.journal.attempts(RUN)
    assert [record.task_id for record in records] == ["t0", "t1", "t2"]
    assert records[-1].score is None
    assert harness.running == 0


@pytest.mark.parametrize("outcome", [Outcome.SANDBOX_KILLED, Outcome.SKILL_NOT_VISIBLE, Outcome.SANDBOX_LOST])
async def test_what_fails_on_a_full_disk_stops_the_run_at_once_and_is_told_from_other_failures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outcome: Outcome
) -> None:
    calm = await Bench(tmp_path / "calm", WorldHarness(failures={"t2": [outcome]}), workers=1).open()
    assert all(result.valid for result in await calm.score())
    monkeypatch.setattr("daemon.rollouts.attempt.is_full", lambda folder: folder.name == "full")
    bench = await Bench(tmp_path / "full", WorldHarness(failures={"t2": [outcome]}), workers=1).open()
    with pytest.raises(RunStopped, match=rf"full is full: free some space.*\(task t2: {outcome}\)"):
        await bench.score()
    assert [record.score is None for record in await bench.journal.attempts(RUN)] == [False, False, True]


@pytest.mark.parametrize("outcome", [Outcome.UNREACHABLE, Outcome.SERVER_ERROR, Outcome.RATE_LIMIT])
async def test_a_provider_that_never_answered_stops_the_run_at_once(tmp_path: Path, outcome: Outcome) -> None:
    harness = WorldHarness(failures={task.id: [outcome] * 9 for task in TASKS})
    bench = await Bench(tmp_path, harness, workers=1).open()
    with pytest.raises(RunStopped, match=r"\(3 tries\)"):
        await bench.score()
    assert {record.task_id for record in await bench.journal.attempts(RUN)} == {"t0"}


async def test_a_provider_that_dies_under_way_stops_the_run_after_three_tasks(tmp_path: Path) -> None:
    harness = WorldHarness(failures={f"t{i}": [Outcome.OVERLOADED] * 9 for i in (1, 2, 3, 4)})
    bench = await Bench(tmp_path, harness, workers=1).open()
    with pytest.raises(RunStopped, match="overloaded on task t3"):
        await bench.score()


async def test_a_few_overloads_between_good_attempts_do_not_stop_the_run(tmp_path: Path) -> None:
    harness = WorldHarness(failures={f"t{i}": [Outcome.OVERLOADED] * 9 for i in (1, 3, 5)})
    bench = await Bench(tmp_path, harness, workers=1).open()
    results = await bench.score()
    assert [result.valid for result in results] == [True, False, True, False, True, False]


async def test_a_failed_verifier_is_asked_again_and_the_agent_is_not(tmp_path: Path) -> None:
    asked: list[str] = []

    async def broken(task: Task, result: Result) -> Score:
        asked.append(task.id)
        if len(asked) < 3 or task.id == "t1":
            raise VerifierError("no reward file")
        return Score(1.0, hard=True)

    bench = await Bench(tmp_path, verifier=broken, workers=1).open()
    results = await bench.score(TASKS[:2])
    assert asked == ["t0"] * 3 + ["t1"] * 3
    assert [result.valid for result in results] == [True, False]
    assert results[1].record.outcome == "verifier_failed"
    assert results[1].record.detail == "no reward file"
    assert set(bench.harness.runs.values()) == {1}


async def test_what_a_judge_model_uses_counts_as_the_attempt_s_even_in_vain(tmp_path: Path) -> None:
    asked: list[str] = []

    async def judging(task: Task, result: Result) -> Score:
        asked.append(task.id)
        if len(asked) == 1 or task.id == "t1":
            raise VerifierError("the judge model failed", Usage(1, 100, 0, 10, 0.5))
        return JudgedScore(1.0, hard=True, usage=Usage(2, 200, 0, 20, 1.0))

    plain = await Bench(tmp_path / "plain", workers=1).open()
    own = [Usage(**result.record.usage) for result in await plain.score(TASKS[:2])]
    bench = await Bench(tmp_path / "judged", verifier=judging, workers=1).open()
    results = await bench.score(TASKS[:2])
    used = [Usage(**result.record.usage) for result in results]
    assert used[0] == own[0] + Usage(3, 300, 0, 30, 1.5)
    assert used[1] == own[1] + Usage(3, 300, 0, 30, 1.5)
    assert [result.valid for result in results] == [True, False]


def test_who_judges_is_part_of_what_an_attempt_is() -> None:
    assert AttemptSettings().key_part() == AttemptSettings(judge="").key_part()
    assert AttemptSettings(judge="openai/one").key_part() != AttemptSettings(judge="openai/two").key_part()
    assert "judge" not in AttemptSettings().key_part()


async def test_an_agent_that_was_not_shown_the_skill_is_invalid(tmp_path: Path) -> None:
    class Blind(WorldHarness):
        async def run(self, assignment: Assignment) -> Attempt:
            attempt = await super().run(assignment)
            return replace(attempt, trace=replace(attempt.trace, skill_listed=False, skill_opened=False))

    bench = await Bench(tmp_path, Blind()).open()
    [shown] = await bench.score(TASKS[:1])
    assert shown.record.outcome == "skill_not_visible"
    [without] = await bench.rollouts.score(None, TASKS[:1], run_id=RUN)
    assert without.valid


async def test_the_plan_stands_before_the_agent_starts(tmp_path: Path) -> None:
    journal = MemoryJournal()

    class Watching(WorldHarness):
        async def run(self, assignment: Assignment) -> Attempt:
            assert await journal.unfinished_attempts() == (assignment.attempt_id,)
            assert list(assignment.folder.iterdir()) == []
            return await super().run(assignment)

    bench = await Bench(tmp_path, Watching(), journal=journal).open()
    await bench.score(TASKS[:1])
    assert await journal.unfinished_attempts() == ()


async def test_cancelling_leaves_nothing_running_and_no_score(tmp_path: Path) -> None:
    class Slow(WorldHarness):
        async def run(self, assignment: Assignment) -> Attempt:
            self.running += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.running -= 1
            raise AssertionError

    bench = await Bench(tmp_path, Slow(), workers=2).open()
    job = asyncio.ensure_future(bench.score())
    while bench.harness.running < 2:
        await asyncio.sleep(0.001)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert bench.harness.running == 0
    assert await bench.journal.attempts(RUN) == ()
    assert len(await bench.journal.unfinished_attempts()) == 2


async def test_one_caller_going_away_does_not_cost_the_other_its_attempt(tmp_path: Path) -> None:
    gate = asyncio.Event()

    class Waiting(WorldHarness):
        async def run(self, assignment: Assignment) -> Attempt:
            await gate.wait()
            return await super().run(assignment)

    bench = await Bench(tmp_path, Waiting(), workers=4).open()
    first = asyncio.ensure_future(bench.score(TASKS[:1]))
    second = asyncio.ensure_future(bench.score(TASKS[:1]))
    while not await bench.journal.unfinished_attempts():
        await asyncio.sleep(0.001)
    first.cancel()
    await asyncio.wait([first])
    gate.set()
    [result] = await second
    assert result.valid
    assert set(bench.harness.runs.values()) == {1}


async def test_every_attempt_is_told_once(tmp_path: Path) -> None:
    bench = await Bench(tmp_path, WorldHarness({"t1": ["rule-a"]})).open()
    await bench.score(TASKS[:2])
    await bench.score(TASKS[:1])
    told = [e for e in bench.heard.events if isinstance(e, AttemptFinished)]
    facts = [(e.task_id, e.solved, e.tokens, e.reused) for e in told]
    # Two run at once, and are told in order of happening.
    assert [*sorted(facts[:2]), *facts[2:]] == [
        ("t0", True, 15, False),
        ("t1", False, 15, False),
        ("t0", True, 15, True),
    ]


async def test_one_canonical_log_line_an_attempt(tmp_path: Path) -> None:
    structlog.reset_defaults()
    bench = await Bench(tmp_path, WorldHarness({"t0": ["rule-a"]})).open()
    with structlog.testing.capture_logs() as lines:
        await bench.score(TASKS[:1])
        await bench.score(TASKS[:1])
    assert [line["event"] for line in lines] == ["attempt", "attempt"]
    [attempt] = await bench.journal.attempts(RUN)
    assert lines[0] == {
        "event": "attempt",
        "log_level": "info",
        "task": "t0",
        "attempt": attempt.attempt_id,
        "harness": "chat",
        "outcome": "completed",
        "score": 0.0,
        "tokens": 15,
        "usd": 0.25,
        "wall_s": 1.0,
        "reused": False,
    }
    assert lines[1] == {**lines[0], "reused": True}
