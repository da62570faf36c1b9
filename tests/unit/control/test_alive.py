"""The health check: 0 only if a daemon answers, and nothing heavy is imported for it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.control.alive import main
from daemon.control.server import serve_control
from tests.support.desk import FakeDesk


async def test_it_asks_the_daemon_of_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with serve_control(FakeDesk(), tmp_path / ".honed"):
        assert await asyncio.to_thread(main, ["honed.toml"]) == 0
        assert await asyncio.to_thread(main, []) == 0
        assert await asyncio.to_thread(main, [str(tmp_path / "elsewhere" / "honed.toml")]) == 1


def test_without_a_daemon_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "honed.toml")]) == 1
    assert capsys.readouterr().err == f"no daemon runs for {tmp_path} (start one with `honed daemon`)\n"


def test_as_a_program_it_ends_with_the_answer_and_is_light(tmp_path: Path) -> None:
    code = "import json, runpy, sys\ntry: runpy.run_module('daemon.control.alive', run_name='__main__')\n"
    code += "except SystemExit as end: print(json.dumps([end.code, sorted(sys.modules)]))"
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    ended, modules = json.loads(done.stdout)
    assert ended == 1
    assert not {"aiohttp", "pydantic", "docker", "typer", "structlog"} & set(modules)
