"""The test-script scorer over a fake sandbox: what it asks of the box, and how each end is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context, VerifierError
from daemon.tasks.task import ScorerSpec, Task
from sandboxes.fake import FakeAnswer, FakeBox, FakeSandbox
from sandboxes.sandbox import MIB, Command, Ending, Limits
from tests.support.tasks import GOLDEN, left, read_harbor

TASK = next(task for _, task in read_harbor(GOLDEN / "harbor") if task.id == "sum-column")


def with_options(**options: object) -> Task:
    return replace(TASK, scorer=ScorerSpec("test_script", options))


def writes(answer: FakeAnswer | None = None, **files: str) -> FakeSandbox:
    """A sandbox whose script leaves files in the out room."""

    def script(box: FakeBox, command: Command) -> FakeAnswer:
        for name, text in files.items():
            Path(box.layout.out, name.replace("_", ".")).write_text(text)
        return answer or FakeAnswer()

    return FakeSandbox(script)


def looks(look: Callable[[FakeBox, Command], None]) -> FakeSandbox:
    """A sandbox whose script looks around, then gives the full reward."""

    def script(box: FakeBox, command: Command) -> FakeAnswer:
        look(box, command)
        Path(box.layout.out, "reward.txt").write_text("1")
        return FakeAnswer()

    return FakeSandbox(script)


async def test_the_reward_is_the_score(tmp_path: Path) -> None:
    score = await score_task(TASK, left(), Context(writes(reward_txt="0.5"), tmp_path))
    assert (score.value, score.hard, score.feedback) == (0.5, False, "the task's checks did not all pass")
    full = await score_task(TASK, left(), Context(writes(reward_json='{"reward": 1.0}'), tmp_path))
    assert (full.value, full.hard, full.feedback) == (1.0, True, "")
    assert full.detail["reward_file"] == "reward.json"
    assert not list(tmp_path.iterdir())


async def test_the_exit_code_is_not_the_reward(tmp_path: Path) -> None:
    sandbox = writes(FakeAnswer(exit_code=1), reward_txt="1")
    assert (await score_task(TASK, left(), Context(sandbox, tmp_path))).value == 1.0


async def test_the_box_has_no_way_out_and_the_tests_only_in_their_mount(tmp_path: Path) -> None:
    limits = Limits(memory_bytes=64 * MIB)
    seen: dict[str, object] = {}

    def look(box: FakeBox, command: Command) -> None:
        (mount,) = box.spec.mounts
        seen["tests"] = sorted(path.relative_to(mount.source).as_posix() for path in mount.source.rglob("*"))
        seen["modes"] = {oct(path.stat().st_mode & 0o777) for path in mount.source.rglob("*") if path.is_file()}
        seen["workspace"] = sorted(path.name for path in Path(box.layout.workspace).rglob("*"))
        seen["out"] = list(Path(box.layout.out).iterdir())
        seen["target"] = mount.target

    sandbox = looks(look)
    await score_task(TASK, left(sum_txt=b"7", reward_txt=b"1"), Context(sandbox, tmp_path, limits))
    (box,) = sandbox.opened
    assert (box.spec.role, box.spec.gateway_socket, box.spec.limits) == ("verifier", None, limits)
    assert seen == {
        "tests": ["checks", "checks/check.py", "test.sh"],
        "modes": {"0o555"},
        "workspace": ["reward.txt", "sum.txt"],
        "out": [],
        "target": "/tests",
    }


async def test_the_command_gets_a_clean_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    sandbox = looks(lambda box, command: None)
    await score_task(with_options(env={"EXPECTED": "3", "LOGS_DIR": "/elsewhere"}), left(), Context(sandbox, tmp_path))
    (box,) = sandbox.opened
    (command,) = box.commands
    assert command.argv[:3] == ("bash", "--noprofile", "--norc")
    assert command.argv[3].endswith("/tests/test.sh")
    assert command.deadline_s == TASK.verifier_timeout_s
    assert command.forward is False
    assert command.env["EXPECTED"] == "3"
    assert command.env["LOGS_DIR"] == box.layout.out  # the task cannot point it elsewhere
    assert command.env["PYTHONSAFEPATH"] == "1"
    assert set(command.env) == {
        *(
            "PATH",
            "HOME",
            "TMPDIR",
            "LANG",
            "PYTHONSAFEPATH",
            "PYTHONPATH",
            "PYTHONNOUSERSITE",
            "PYTHONDONTWRITEBYTECODE",
        ),
        *("EXPECTED", "TESTS_DIR", "LOGS_DIR", "WORKSPACE_DIR"),
        *("GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_CONFIG_KEY_1", "GIT_CONFIG_VALUE_1"),
    }


async def test_a_stale_reward_in_the_workspace_never_counts(tmp_path: Path) -> None:
    stale = left(reward_txt=b"1", reward_json=b"1")
    with pytest.raises(VerifierError, match=r"wrote neither reward\.json nor reward\.txt"):
        await score_task(TASK, stale, Context(writes(), tmp_path))


@pytest.mark.parametrize("text", ["NaN", "inf", "1e999", "2.0", "-1", "", "x" * 100_000])
async def test_a_reward_that_is_no_score_is_invalid(tmp_path: Path, text: str) -> None:
    with pytest.raises(VerifierError, match=r"task sum-column: reward\.txt "):
        await score_task(TASK, left(), Context(writes(reward_txt=text), tmp_path))


async def test_a_linked_reward_is_invalid(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.txt"
    target.write_text("1")

    def script(box: FakeBox, command: Command) -> FakeAnswer:
        Path(box.layout.out, "reward.txt").symlink_to(target)
        return FakeAnswer()

    with pytest.raises(VerifierError, match=r"reward\.txt is no plain file"):
        await score_task(TASK, left(), Context(FakeSandbox(script), tmp_path))


@pytest.mark.parametrize("ending", [Ending.KILLED, Ending.OUT_OF_MEMORY, Ending.LOST])
async def test_an_end_from_outside_is_invalid_even_with_a_reward(tmp_path: Path, ending: Ending) -> None:
    sandbox = writes(FakeAnswer(ending=ending, detail="by the kernel"), reward_txt="1")
    with pytest.raises(VerifierError, match=f"the test script ended by {ending.value} by the kernel"):
        await score_task(TASK, left(), Context(sandbox, tmp_path))


async def test_a_script_without_reward_names_its_exit_code_and_last_words(tmp_path: Path) -> None:
    sandbox = writes(FakeAnswer(exit_code=6, stderr=b"curl: could not resolve host"))
    with pytest.raises(VerifierError, match=r"exit code 6; stderr ends: 'curl: could not resolve host'"):
        await score_task(TASK, left(), Context(sandbox, tmp_path))


async def test_running_out_of_time_is_invalid_unless_the_task_says_otherwise(tmp_path: Path) -> None:
    async def script(box: FakeBox, command: Command) -> FakeAnswer:
        await asyncio.sleep(30)
        return FakeAnswer()

    context = Context(FakeSandbox(script), tmp_path)
    hurried = replace(TASK, verifier_timeout_s=0.05)
    with pytest.raises(VerifierError, match="the test script ended by deadline"):
        await score_task(hurried, left(), context)
    failing = replace(hurried, scorer=ScorerSpec("test_script", {"deadline_fails": True}))
    score = await score_task(failing, left(), context)
    assert (score.value, score.feedback) == (0.0, "the checks ran out of time on what the agent left")


async def test_a_broken_sandbox_is_invalid(tmp_path: Path) -> None:
    broken = Context(FakeSandbox(lambda box, command: FakeAnswer(), broken="no engine"), tmp_path)
    with pytest.raises(VerifierError, match="task sum-column: the verifier's sandbox failed: no engine"):
        await score_task(TASK, left(), broken)
    with pytest.raises(VerifierError, match="test_script needs a sandbox: run `honed doctor`"):
        await score_task(TASK, left())


async def test_vanished_tests_are_invalid(tmp_path: Path) -> None:
    gone = replace(TASK, tests={"test.sh": tmp_path / "gone.sh"})
    with pytest.raises(VerifierError, match="scorer test_script failed: FileNotFoundError"):
        await score_task(gone, left(), Context(writes(reward_txt="1"), tmp_path))


async def test_what_the_script_says_reaches_people_and_not_the_optimizer(tmp_path: Path) -> None:
    sandbox = writes(
        FakeAnswer(stdout=b"assert got == 'Port Alder'"),
        reward_txt="0",
        ctrf_json='{"results": {"summary": {"tests": 4, "failed": 3}, "tests": [{"name": "test_port_alder"}]}}',
    )
    score = await score_task(TASK, left(), Context(sandbox, tmp_path))
    assert score.feedback == "3 of 4 checks failed"
    assert score.detail["stdout"] == "assert got == 'Port Alder'"


async def test_a_feedback_file_is_read_only_where_the_task_names_it(tmp_path: Path) -> None:
    sandbox = writes(reward_txt="0.5", feedback_txt="rows.txt was not written\n")
    plain = await score_task(TASK, left(), Context(sandbox, tmp_path))
    assert plain.feedback == "the task's checks did not all pass"
    named = await score_task(with_options(feedback_file="feedback.txt"), left(), Context(sandbox, tmp_path))
    assert named.feedback == "rows.txt was not written"


async def test_a_lower_pass_mark(tmp_path: Path) -> None:
    score = await score_task(with_options(pass_at=0.5), left(), Context(writes(reward_txt="0.5"), tmp_path))
    assert (score.value, score.hard) == (0.5, True)


async def test_cancelling_leaves_nothing_behind(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def script(box: FakeBox, command: Command) -> FakeAnswer:
        started.set()
        await asyncio.sleep(30)
        return FakeAnswer()

    running = asyncio.create_task(score_task(TASK, left(), Context(FakeSandbox(script), tmp_path)))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not list(tmp_path.iterdir())
