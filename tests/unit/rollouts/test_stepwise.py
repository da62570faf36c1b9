"""Tasks that are done in steps, as one attempt: order, gates, what goes on, and what makes the whole invalid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.rollouts.attempt import AttemptSettings
from daemon.rollouts.progress import AttemptFinished
from daemon.rollouts.result import TaskResult
from daemon.rollouts.rollouts import Rollouts
from daemon.rollouts.stop import RunStopped
from daemon.tasks.scorers.scorer import JudgedScore, Result, VerifierError
from daemon.tasks.task import Score, ScorerSpec, Step, Task
from harnesses.fake import FakeHarness, FakeResult
from harnesses.harness import Assignment
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import Usage
from tests.support.optimizer import Heard, make_skill, make_task, no_wait

RUN = "r1"


def step(name: str, **fields: Any) -> Step:
    return Step(name, f"Do {name}.", ScorerSpec("test_script"), {}, **{"timeout_s": 9.0, **fields})


class Bench:
    """One task of steps, an agent that leaves a file a step, and tests that give each its reward."""

    def __init__(self, folder: Path, given: Sequence[float | Exception], *steps: Step, **fields: Any) -> None:
        self.folder = folder
        self.task: Task = make_task("t", steps=steps or (step("a"), step("b")), **fields)
        self.harness = FakeHarness(self.behave)
        self.rewards = list(given)
        self.results: list[tuple[str, Result]] = []
        self.ends: Mapping[str, FakeResult] = {}
        self.journal = MemoryJournal()
        self.heard = Heard()

    def behave(self, assignment: Assignment) -> FakeResult:
        name = assignment.prompt.removeprefix("Do ").removesuffix(".")
        return self.ends.get(name, FakeResult(f"did {name}", {f"{name}.txt": name.encode()}))

    async def verify(self, task: Task, result: Result) -> Score:
        self.results.append((task.prompt, result))
        reward = self.rewards.pop(0)
        if isinstance(reward, Exception):
            raise reward
        return JudgedScore(reward, reward >= 1, "" if reward >= 1 else "not all passed", usage=Usage(1, 10, 0, 1, 0.5))

    async def run(self, **settings: Any) -> TaskResult:
        if not await self.journal.find_runs():
            await self.journal.open_run(RunRecord(RUN, "f", "demo", "c", "open", 0.0))
        rollouts = Rollouts(
            self.harness,
            self.verify,
            self.journal,
            attempts_folder=self.folder,
            settings=AttemptSettings(**settings),
            sleep=no_wait,
            observer=self.heard,
        )
        (result,) = await rollouts.score(make_skill(), [self.task], run_id=RUN)
        return result


async def test_each_step_has_its_own_run_in_the_workspace_that_is_left(tmp_path: Path) -> None:
    (tmp_path / "given.txt").write_text("given")
    (tmp_path / "late.txt").write_text("late")
    steps = step("a"), step("b", files={"late.txt": tmp_path / "late.txt"}, setup="late.txt", timeout_s=5.0)
    bench = Bench(tmp_path / "attempts", [1.0, 0.5], *steps, files={"given.txt": tmp_path / "given.txt"})
    result = await bench.run()
    first, second = bench.harness.assignments
    assert (first.prompt, first.files, first.before, first.setup) == ("Do a.", {"given.txt": b"given"}, None, "")
    assert (first.deadline_s, second.deadline_s) == (9.0, 5.0)
    assert (second.prompt, second.files, second.setup) == ("Do b.", {"late.txt": b"late"}, "late.txt")
    assert second.before is not None
    assert (second.before.folder, second.folder) == (first.folder, first.folder.parent / "step-2")
    assert second.seen == {"given.txt": b"given", "a.txt": b"a", "late.txt": b"late"}
    assert first.skill is not None
    assert second.skill == first.skill
    assert [(prompt, sorted(left.workspace.files)) for prompt, left in bench.results] == [
        ("Do a.", ["a.txt", "given.txt"]),
        ("Do b.", ["a.txt", "b.txt", "given.txt", "late.txt"]),
    ]
    assert (result.score, result.solved) == (0.75, False)


async def test_one_record_tells_of_all_steps(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [1.0, 0.5])
    record = (await bench.run()).record
    assert record.feedback == "step 2 of 2 (b): not all passed"
    assert record.final_answer == "did b"
    assert (record.outcome, record.detail) == (Outcome.COMPLETED, "")
    assert "# step 1 of 2 (a)\n\n" in record.summary
    assert "# step 2 of 2 (b)\n\n" in record.summary
    assert record.usage["requests"] == 4  # an agent's and a judge's of each step
    assert record.usage["usd"] == pytest.approx(1.002)
    assert [one["score"] for one in record.score_detail["steps"]] == [1.0, 0.5]
    assert (tmp_path / record.attempt_id / "chat_trace_summary.txt").read_text() == record.summary


async def test_a_step_below_its_threshold_is_the_last(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [0.5], step("a", min_reward={"reward": 1.0}), step("b"))
    record = (await bench.run()).record
    assert (record.score, record.hard, len(bench.harness.assignments)) == (0.5, False, 1)
    assert record.feedback.endswith("the task ended after step 1 of 2 (a): its reward is 0.5, below the min_reward 1")


@pytest.mark.parametrize("rewards", [[1.0, 1.0], [0.0, 1.0]])
async def test_final_counts_the_last_step(tmp_path: Path, rewards: list[float]) -> None:
    result = await Bench(tmp_path, rewards, rewards="final").run()
    assert (result.score, result.solved) == (1.0, True)


@pytest.mark.parametrize("place", ["a", "b"])
async def test_a_failure_of_ours_at_any_step_is_no_score_and_is_tried_again_from_the_start(
    tmp_path: Path, place: str
) -> None:
    bench = Bench(tmp_path, [1.0] * 9)
    bench.ends = {place: FakeResult(outcome=Outcome.SANDBOX_LOST, detail="gone")}
    number = "ab".index(place) + 1
    with pytest.raises(RunStopped, match=rf"step {number} of 2 \({place}\): gone"):
        await bench.run(tries=2)
    ended = [event for event in bench.heard.events if isinstance(event, AttemptFinished)]
    assert [(event.score, event.solved, event.outcome) for event in ended] == [(None, None, Outcome.SANDBOX_LOST)] * 2
    assert len(bench.harness.assignments) == 2 * number
    assert len({assignment.attempt_id for assignment in bench.harness.assignments}) == 2
    assert not await bench.journal.unfinished_attempts()


async def test_a_step_whose_tests_fail_makes_the_whole_invalid_and_no_agent_runs_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [1.0, *[VerifierError("no reward file")] * 3])
    record = (await bench.run(tries=3)).record
    assert (record.score, record.outcome, record.detail) == (
        None,
        Outcome.VERIFIER_FAILED,
        "step 2 of 2 (b): no reward file",
    )
    assert (len(bench.harness.assignments), len(bench.results)) == (2, 4)


async def test_an_agent_that_runs_out_of_time_goes_on_with_the_next_step(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [0.0, 1.0])
    bench.ends = {"a": FakeResult(outcome=Outcome.AGENT_DEADLINE, detail="600 s")}
    record = (await bench.run()).record
    assert (record.score, record.outcome, record.detail) == (0.5, Outcome.AGENT_DEADLINE, "step 1 of 2 (a): 600 s")


async def test_a_setup_that_fails_is_not_tried_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [1.0])
    bench.ends = {"b": FakeResult(outcome=Outcome.SETUP_FAILED, detail="setup.sh ended with exit code 3")}
    record = (await bench.run(tries=3)).record
    assert (record.score, record.outcome) == (None, Outcome.SETUP_FAILED)
    assert len(bench.harness.assignments) == 2


async def test_rewards_of_which_none_counts_are_a_failure_of_the_tests(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [1.0, 1.0])
    verify = bench.verify

    async def beauty(task: Task, result: Result) -> Score:
        score = await verify(task, result)
        return replace(score, detail={"rewards": {task.prompt: 1.0}})

    bench.verify = beauty  # type: ignore[method-assign]
    record = (await bench.run()).record
    assert (record.score, record.outcome) == (None, Outcome.VERIFIER_FAILED)
    assert "and none is named reward" in record.detail


async def test_steps_are_paid_for_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [1.0, 1.0])
    await bench.run()
    again = await bench.run()
    assert (again.reused, again.score, len(bench.harness.assignments)) == (True, 1.0, 2)
