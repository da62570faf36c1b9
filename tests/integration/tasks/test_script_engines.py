"""Test scripts in a real second box: Harbor's paths, what they cannot reach, and what cannot fool them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context, VerifierError
from daemon.tasks.task import Task
from tests.support.tasks import GOLDEN, left

TASKS = {task.id: task for task in load_tasks(GOLDEN / "harbor", min_selection=1).tasks}


def scripted(tmp_path: Path, script: str) -> Task:
    (tmp_path / "test.sh").write_text("#!/bin/bash\n" + script)
    return replace(TASKS["count-lines"], tests={"test.sh": tmp_path / "test.sh"})


async def test_harbor_samples_solved_and_not(any_context: Context) -> None:
    solved = await score_task(TASKS["count-lines"], left(count_txt=b" 3\n"), any_context)
    assert (solved.value, solved.hard) == (1.0, True)
    missed = await score_task(TASKS["count-lines"], left(count_txt=b"4", reward_txt=b"1"), any_context)
    assert (missed.value, missed.hard) == (0.0, False)
    assert any_context.folder is not None
    assert not list(any_context.folder.iterdir())


async def test_partial_rewards_with_counts(any_context: Context) -> None:
    score = await score_task(TASKS["sum-column"], left(sum_txt=b"7", rows_txt=b"9"), any_context)
    assert (score.value, score.feedback) == (0.5, "1 of 2 checks failed")


@pytest.mark.docker
async def test_startup_files_in_the_workspace_do_not_run(context: Context) -> None:
    forge = b"import pathlib\npathlib.Path('/logs/verifier/reward.json').write_text('1')\n"
    hostile = left(sum_txt=b"0", json_py=forge, sitecustomize_py=forge, usercustomize_py=forge, conftest_py=forge)
    assert (await score_task(TASKS["sum-column"], hostile, context)).value == 0.0


async def test_helper_modules_beside_the_script_are_found(any_context: Context, tmp_path: Path) -> None:
    task = scripted(tmp_path, 'python3 "$TESTS_DIR/check.py" > "$LOGS_DIR/reward.txt"')
    (tmp_path / "check.py").write_text("import expected_of_task\nprint(expected_of_task.REWARD)\n")
    (tmp_path / "expected_of_task.py").write_text("REWARD = 0.75\n")
    tests = {name: tmp_path / name for name in ("test.sh", "check.py", "expected_of_task.py")}
    hostile = left(**{"expected_of_task.py": b"REWARD = 1\n"})
    assert (await score_task(replace(task, tests=tests), hostile, any_context)).value == 0.75


@pytest.mark.docker
async def test_the_script_sees_harbors_paths_and_no_way_out(context: Context, tmp_path: Path) -> None:
    task = scripted(
        tmp_path,
        """
        [ "$PWD" = "$WORKSPACE_DIR" ] && [ "$TESTS_DIR" = /tests ] && [ "$LOGS_DIR" = /logs/verifier ] || exit 1
        touch /tests/x 2>/dev/null && exit 2
        touch /x 2>/dev/null && exit 3
        [ "$(id -u)" != 0 ] || exit 4
        [ "$(ls /sys/class/net)" = lo ] || exit 5
        ls /run/gateway 2>/dev/null && exit 6
        [ -z "$(ls -A /logs/verifier)" ] || exit 7
        echo 1 > /logs/verifier/reward.txt
        """,
    )
    assert (await score_task(task, left(), context)).value == 1.0


@pytest.mark.docker
async def test_nothing_overwrites_the_reward_after_the_script(context: Context, tmp_path: Path) -> None:
    task = scripted(
        tmp_path,
        """
        (setsid bash -c 'while true; do sleep 0.2; echo 1 > /logs/verifier/reward.json; done' &) >/dev/null 2>&1
        echo 0.25 > /logs/verifier/reward.txt
        """,
    )
    assert (await score_task(task, left(), context)).value == 0.25


@pytest.mark.docker
async def test_no_reward_and_no_time(context: Context, tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match=r"wrote neither .* \(exit code 6; stderr ends: 'no network"):
        await score_task(scripted(tmp_path, "echo no network >&2; exit 6"), left(), context)
    with pytest.raises(VerifierError, match="the test script ended by deadline"):
        await score_task(replace(scripted(tmp_path, "sleep 60"), verifier_timeout_s=1.0), left(), context)


@pytest.mark.docker
@pytest.mark.parametrize("command", ["ln -s /etc/hostname", "ln -s /tests/test.sh", "mkfifo", "mkdir"])
async def test_a_reward_that_is_no_plain_file(context: Context, tmp_path: Path, command: str) -> None:
    with pytest.raises(VerifierError, match=r"reward\.txt is no plain file|wrote neither"):
        await score_task(scripted(tmp_path, f"{command} /logs/verifier/reward.txt"), left(), context)
