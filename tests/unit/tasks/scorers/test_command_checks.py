"""Command checks over a fake sandbox: what is asked of the box, and how each end is told. Real engines: integration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.tasks.scorers.registry import check_scorer, needs_sandbox, score_task
from daemon.tasks.scorers.scorer import Context, VerifierError
from daemon.tasks.task import Score, Task, TaskError
from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.sandbox import Command, Ending
from tests.support.tasks import left, task_for


def asking(*checks: dict[str, object], **fields: object) -> Task:
    return task_for("command_checks", options={"checks": list(checks), **fields})


async def scored(folder: Path, answer: FakeAnswer, *checks: dict[str, object], **fields: object) -> Score:
    sandbox = FakeSandbox(lambda box, command: answer)
    return await score_task(asking(*checks, **fields), left(), Context(sandbox, folder))


@pytest.mark.parametrize(
    ("answer", "check", "why"),
    [
        (FakeAnswer(), {}, ""),
        (FakeAnswer(exit_code=1), {}, "command 1 ended with exit code 1"),
        (FakeAnswer(exit_code=1), {"exit_code": 1}, ""),
        (FakeAnswer(exit_code=7), {"exit_code": None}, ""),
        (FakeAnswer(exit_code=1), {"name": "sorting"}, "sorting ended with exit code 1"),
        (FakeAnswer(stdout=b"a \nb\n\n"), {"stdout": "a\nb"}, ""),
        (FakeAnswer(stdout=b"b\na\n"), {"stdout": "a\nb"}, "command 1 printed something else"),
        (FakeAnswer(), {"stdout": "a"}, "command 1 printed nothing"),
        (
            FakeAnswer(stdout=b"one two"),
            {"contains": ["one", "three"]},
            "command 1 printed a text that lacks 1 of 2 parts",
        ),
        (FakeAnswer(stdout=b"total: 7"), {"matches": r"\d"}, ""),
        (FakeAnswer(stdout=b"\xff\xfe"), {"matches": r"\d"}, "command 1 printed a text that does not fit its pattern"),
        (FakeAnswer(stdout=b"a" * 300_000), {"stdout": "a" * 300_000}, "command 1 printed something else"),
        (FakeAnswer(ending=Ending.DEADLINE, exit_code=None), {}, "command 1 ran out of time"),
        (FakeAnswer(ending=Ending.OUT_OF_MEMORY, exit_code=None), {}, "command 1 ended by out_of_memory"),
    ],
)
async def test_checks(tmp_path: Path, answer: FakeAnswer, check: dict[str, object], why: str) -> None:
    score = await scored(tmp_path, answer, {"run": "true", **check})
    assert (score.feedback, score.hard) == (why, not why)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [Ending.LOST, Ending.KILLED])
async def test_a_lost_box_is_our_failure(tmp_path: Path, ending: Ending) -> None:
    with pytest.raises(VerifierError, match=f"a command check was {ending.value}"):
        await scored(tmp_path, FakeAnswer(ending=ending, exit_code=None), {"run": "true"})


async def test_running_out_of_the_verifiers_time_is_our_failure(tmp_path: Path) -> None:
    sandbox = FakeSandbox(lambda box, command: FakeAnswer(ending=Ending.DEADLINE, exit_code=None))
    task = task_for("command_checks", options={"checks": [{"run": "true", "timeout_s": 50.0}]}, verifier_timeout_s=20.0)
    with pytest.raises(VerifierError, match="raise verifier_timeout_s"):
        await score_task(task, left(), Context(sandbox, tmp_path))


def recording(seen: list[Command]) -> Callable[[FakeBox, Command], FakeAnswer]:
    def script(box: FakeBox, command: Command) -> FakeAnswer:
        seen.append(command)
        return FakeAnswer(exit_code=len(seen) % 2)

    return script


async def test_commands_run_in_order_in_one_box_and_the_score_is_their_share(tmp_path: Path) -> None:
    seen: list[Command] = []
    task = asking({"run": "one"}, {"run": "two", "timeout_s": 5.0}, {"run": "three"}, env={"MODE": "x"})
    score = await score_task(task, left(report_txt=b"r"), Context(FakeSandbox(recording(seen)), tmp_path))
    assert score.value == pytest.approx(1 / 3)
    assert score.feedback == "command 1 ended with exit code 1; command 3 ended with exit code 1"
    assert [command.argv[-1] for command in seen] == ["one", "two", "three"]
    assert seen[1].deadline_s == 5.0
    assert all(command.env["MODE"] == "x" and command.env["TESTS_DIR"] for command in seen)


async def test_without_a_sandbox_it_says_so() -> None:
    task = asking({"run": "true"})
    assert needs_sandbox(task)
    with pytest.raises(VerifierError, match="scorer command_checks needs a sandbox: run `honed doctor`"):
        await score_task(task, left(), Context())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"checks": [{}]}, r"scorer\.checks\.0\.run: "),
        ({"checks": [{"run": ""}]}, r"scorer\.checks\.0\.run: "),
        ({"checks": [{"run": "x", "exit_code": 300}]}, r"scorer\.checks\.0\.exit_code"),
        ({"checks": [{"run": "x"}], "env": {"A-B": "x"}}, r"scorer\.env"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(TaskError, match=complaint):
        check_scorer(task_for("command_checks", options=options))
