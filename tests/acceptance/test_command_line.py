"""The command line itself: one JSON line whatever happens, readable output anywhere, and no half-made files."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.honed_cli import HONED, LIMIT_S, environment, honed, journal_rows, scored_count
from tests.support.projects import demo_project


@pytest.mark.parametrize(
    "arguments", [("train", "--bogus"), ("log", "--limit", "many"), ("nonsense",), ("init",)], ids=" ".join
)
def test_a_usage_error_is_a_json_line_too(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    ran = honed(*arguments, "--json", cwd=tmp_path)
    assert ran.code == 2
    assert ran.result["error"]["kind"] == "usage"
    assert "Traceback" not in ran.stderr


def test_a_path_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = honed("init", "--json", "--skill", "s", "--config", tmp_path / "file" / "honed.toml", cwd=tmp_path)
    assert ran.code == 1
    assert "Traceback" not in ran.stderr
    assert ran.result["error"] == {"kind": "system", "message": ran.error}
    assert str(tmp_path / "file") in ran.error


def test_a_state_folder_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    project = demo_project(tmp_path / "p", chat=True)
    (project / ".honed").touch()
    ran = honed("train", "--json", cwd=project)
    assert ran.code == 1
    assert "Traceback" not in ran.stderr
    assert str(project / ".honed") in ran.result["error"]["message"]


@pytest.mark.parametrize("skill", ["skills/My Skill", "../outside", "/tmp/absolute", "a//b", "x--y"])
def test_init_makes_no_skill_that_train_would_refuse(tmp_path: Path, skill: str) -> None:
    ran = honed("init", "--json", "--skill", skill, cwd=tmp_path)
    assert ran.code == 2
    assert "skills/my-skill" in ran.error
    assert list(tmp_path.iterdir()) == []


def test_a_narrow_locale_ends_nothing(tmp_path: Path) -> None:
    project = demo_project(tmp_path / "a path with spaces", chat=True)
    env = environment(PYTHONIOENCODING="ascii")
    for arguments in (("--log-text", "eval"), ("eval", "--json"), ("log",)):
        ran = honed(*arguments, cwd=project, env=env, program=HONED)
        assert ran.code == 0, ran.stderr
        assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_were_closed_by_the_caller_end_nothing_and_receive_nothing_else(
    tmp_path: Path, closed: str
) -> None:
    project = demo_project(tmp_path / "p", chat=True, keep={"train": 2, "selection": 4, "test": 2})
    said = subprocess.run(
        ["sh", "-c", f'exec "$0" train --json {closed}', HONED],
        cwd=project,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (said.returncode, b"Traceback" in said.stderr) == (0, False), said.stderr
    assert scored_count(project) > 0
    assert journal_rows(project, "PRAGMA integrity_check") == [("ok",)]


def test_a_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    project = demo_project(tmp_path / "p", chat=True)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run([HONED, "log", "--json"], cwd=project, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_polite_stop_is_said_and_goes_on_later(tmp_path: Path, number: signal.Signals) -> None:
    project = demo_project(tmp_path / "p", chat=True)
    process = subprocess.Popen(
        [HONED, "train", "--json"],
        cwd=project,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    limit = time.monotonic() + LIMIT_S
    while process.poll() is None and scored_count(project) < 1:
        assert time.monotonic() < limit, "the training does not get on"
        time.sleep(0.01)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 130, stderr
    assert '"kind": "interrupted"' in stdout.splitlines()[-1]
    again = honed("train", "--json", cwd=project)
    assert again.code == 0, again.stderr
    assert again.result["resumed"] is True
    assert not (project / ".honed" / "honed.pid").exists()
