"""Who is to blame for a test script that comes to no score: the script and its box, or what the agent left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from daemon.journal.records import AttemptRecord
from daemon.rollouts.scoring import PATIENCE, UNCHECKED, Judge
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context, Result, UndecidedError, VerifierError
from daemon.tasks.task import Score, ScorerSpec, Task
from harnesses.outcome import Outcome
from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.sandbox import Command, Ending
from tests.support.journal import a_key, a_record
from tests.support.optimizer import make_task, no_wait
from tests.support.tasks import left

TRIES = 2
LEFT = left(trap_txt=b"x")
HALF = Score(value=0.5, hard=False, feedback="half")


@dataclass
class Verifier:
    """Does as it is told, one answer a call, on the agent's files and on untouched ones; the last one stays."""

    on_left: list[Score | Exception]
    on_untouched: list[Score | Exception]
    asked: list[tuple[str, float]] = field(default_factory=list)

    async def __call__(self, task: Task, result: Result) -> Score:
        touched = result is LEFT
        self.asked.append(("left" if touched else "untouched", task.verifier_timeout_s))
        plan = self.on_left if touched else self.on_untouched
        answer = plan.pop(0) if len(plan) > 1 else plan[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def hung() -> UndecidedError:
    return UndecidedError("the test script ended by deadline")


async def judged(verifier: Callable[[Task, Result], Awaitable[Score]], task: Task | None = None) -> AttemptRecord:
    record = a_record("a-1", score=None, hard=None)
    return await Judge(verifier, TRIES, no_wait).judge(record, LEFT, task or make_task("t"), a_key())


async def test_a_script_that_fails_only_on_what_the_agent_left_is_a_failed_check() -> None:
    verifier = Verifier([hung()], [HALF])
    record = await judged(verifier)
    assert (record.outcome, record.score, record.hard, record.feedback) == (Outcome.COMPLETED, 0.0, False, UNCHECKED)
    assert record.score_detail == {"verifier": "the test script ended by deadline"}
    usual = make_task("t").verifier_timeout_s
    assert verifier.asked == [*[("left", usual)] * TRIES, ("untouched", usual), ("left", PATIENCE * usual)]


async def test_a_script_that_fails_on_untouched_files_too_is_no_score() -> None:
    verifier = Verifier([hung()], [hung()])
    record = await judged(verifier)
    assert (record.outcome, record.score) == (Outcome.VERIFIER_FAILED, None)
    assert "ended by deadline" in record.detail
    assert [who for who, _ in verifier.asked] == ["left"] * TRIES + ["untouched"]


async def test_a_script_that_only_needed_more_time_gives_its_score() -> None:
    record = await judged(Verifier([hung(), hung(), HALF], [HALF]))
    assert (record.outcome, record.score) == (Outcome.COMPLETED, 0.5)


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_box_that_fails_is_never_a_score(place: int) -> None:
    answers: list[Score | Exception] = [hung(), hung(), hung()]
    answers[place:] = [VerifierError("the verifier's sandbox failed")]
    record = await judged(Verifier(answers, [HALF]))
    assert (record.outcome, record.score) == (Outcome.VERIFIER_FAILED, None)


async def test_a_box_that_fails_under_the_control_says_nothing_of_the_agent() -> None:
    record = await judged(Verifier([hung()], [VerifierError("the verifier's sandbox failed")]))
    assert (record.outcome, record.score) == (Outcome.VERIFIER_FAILED, None)
    assert "ended by deadline" in record.detail, "what failed first is what is told"


async def test_files_that_can_no_longer_be_read_are_no_control(tmp_path: Path) -> None:
    task = replace(make_task("t"), files={"in.csv": tmp_path / "gone.csv"})
    record = await judged(Verifier([hung()], [HALF]), task)
    assert (record.outcome, record.score) == (Outcome.VERIFIER_FAILED, None)


@pytest.mark.parametrize(
    ("answer", "reward", "outcome"),
    [
        (FakeAnswer(ending=Ending.DEADLINE), "1", Outcome.COMPLETED),
        (FakeAnswer(ending=Ending.OVER_DISK), "1", Outcome.COMPLETED),
        (FakeAnswer(), "2.0", Outcome.COMPLETED),
        (FakeAnswer(exit_code=1), "", Outcome.COMPLETED),
        (FakeAnswer(ending=Ending.OUT_OF_MEMORY), "1", Outcome.VERIFIER_FAILED),
        (FakeAnswer(ending=Ending.LOST), "1", Outcome.VERIFIER_FAILED),
        (FakeAnswer(ending=Ending.KILLED), "1", Outcome.VERIFIER_FAILED),
    ],
)
async def test_which_ends_of_a_script_may_be_the_files(
    answer: FakeAnswer, reward: str, outcome: Outcome, tmp_path: Path
) -> None:
    (tmp_path / "test.sh").write_text("true\n")
    task = replace(make_task("t"), scorer=ScorerSpec("test_script"), tests={"test.sh": tmp_path / "test.sh"})

    def script(box: FakeBox, command: Command) -> FakeAnswer:
        trapped = (Path(box.layout.workspace) / "trap.txt").exists()
        Path(box.layout.out, "reward.txt").write_text(reward if trapped else "0.5")
        return answer if trapped else FakeAnswer()

    async def verifier(task: Task, result: Result) -> Score:
        return await score_task(task, result, Context(FakeSandbox(script)))

    record = await judged(verifier, task)
    assert (record.outcome, record.score) == (outcome, 0.0 if outcome is Outcome.COMPLETED else None)
