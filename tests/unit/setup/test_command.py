"""Host commands of set-up: output, deadlines, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from sandboxes.image.command import find_program, run_command
from tests.support.processes import runs
from tests.support.waiting import LONGER_S, PATIENCE_S, until


async def test_output_and_code() -> None:
    finished = await run_command(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=PATIENCE_S)
    assert finished.code == 3
    assert sorted(finished.output.split()) == ["err", "out"]


async def test_lines_come_as_they_are_printed() -> None:
    lines: list[str] = []
    await run_command(["sh", "-c", r"printf 'a\nb\rc'"], timeout_s=PATIENCE_S, on_line=lines.append)
    assert lines == ["a", "b"]


async def test_added_environment_and_folder(tmp_path: Path) -> None:
    finished = await run_command(
        ["sh", "-c", "echo $HONED_X; pwd"], timeout_s=PATIENCE_S, env={"HONED_X": "1"}, cwd=tmp_path
    )
    assert finished.output.split() == ["1", str(tmp_path)]


async def test_a_missing_program_is_told_not_raised() -> None:
    finished = await run_command(["honed-no-such-program"], timeout_s=PATIENCE_S)
    assert finished.code == 127
    assert "honed-no-such-program" in finished.last_line


async def test_deadline_kills_the_whole_session(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    for timeout_s in (0.3, *LONGER_S):
        finished = await run_command(["sh", "-c", f"sleep 600 & echo $! > {pids}; wait"], timeout_s=timeout_s)
        assert finished.code == 124
        if pids.exists() and pids.read_text():
            break
    await until(lambda: not runs(int(pids.read_text())))


async def test_cancelling_kills_too(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = asyncio.create_task(run_command(["sh", "-c", f"echo $$ > {pids}; exec sleep 600"], timeout_s=600))
    await until(lambda: pids.exists() and pids.read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not runs(int(pids.read_text())))


async def test_a_daemon_that_keeps_the_pipe_open_does_not_hold_us(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    finished = await run_command(["sh", "-c", f"echo done; setsid sleep 600 & echo $! > {pids}"], timeout_s=PATIENCE_S)
    assert finished == type(finished)(0, "done")
    assert runs(int(pids.read_text())), "it was not waited for"
    os.kill(int(pids.read_text()), 9)


async def test_standard_input_is_closed() -> None:
    assert (await run_command(["cat"], timeout_s=PATIENCE_S)).code == 0


def test_programs_of_root_are_found_with_a_poor_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "honed-tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("honed-tool") == str(program)
    assert find_program("honed-no-such-program") is None
