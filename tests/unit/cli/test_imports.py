"""What a command may not load: verbs shall answer at once, and a daemon holds what it loads for months.

Names, no times: what is heavy stays out until somebody needs it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.control import Beside
from tests.support.desk import FakeDesk
from tests.support.projects import chat_project

LIBRARIES = (
    *("anthropic", "openai", "docker", "requests", "openpyxl", "rapidfuzz", "jsonschema", "prometheus_client"),
    *("opentelemetry", "git", "numpy"),
)
"""Nobody needs them before a task, an engine or a page asks for what they do."""
MACHINERY = ("aiohttp", "jinja2", "watchdog", "yaml", "daemon.config", "daemon.wiring", "harnesses", "sandboxes")
"""A verb that only asks needs none of it either."""


def loaded(code: str, among: tuple[str, ...], folder: Path) -> list[str]:
    """Which of these modules a Python has loaded once it has run the code."""
    # Verbs end by SystemExit, so the question is asked at the very end.
    end = f"print(json.dumps([name for name in {among} if name in sys.modules]), file=sys.stderr)"
    whole = f"import atexit, json, sys; atexit.register(lambda: {end}); {code}"
    done = subprocess.run(
        [sys.executable, "-c", whole], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    names: list[str] = json.loads(done.stderr.splitlines()[-1])
    return names


def verb(*words: str) -> str:
    """Code that runs the command as `honed WORDS`."""
    return f"sys.argv[:] = ['honed', *{words}]; from daemon.cli import main; main()"


def test_the_version_needs_next_to_nothing(tmp_path: Path) -> None:
    assert loaded(verb("--version"), (*LIBRARIES, *MACHINERY, "pydantic", "sqlite3", "http.client"), tmp_path) == []


def test_asking_a_daemon_needs_none_of_what_the_daemon_needs(tmp_path: Path) -> None:
    chat_project(tmp_path, "http://127.0.0.1:9/v1")
    with Beside(FakeDesk(), tmp_path / ".honed"):
        assert loaded(verb("status"), (*LIBRARIES, *MACHINERY), tmp_path) == []
        assert loaded(verb("status", "--json"), (*LIBRARIES, *MACHINERY), tmp_path) == []


def test_without_a_daemon_it_reads_the_stores_alone(tmp_path: Path) -> None:
    chat_project(tmp_path, "http://127.0.0.1:9/v1")
    assert loaded(verb("status"), (*LIBRARIES, "aiohttp", "jinja2", "watchdog", "daemon.wiring"), tmp_path) == []


@pytest.mark.parametrize("module", ["daemon.cli.daemon", "daemon.training.train", "harnesses.models.factory"])
def test_a_daemon_that_waits_holds_no_library_that_few_tasks_need(module: str, tmp_path: Path) -> None:
    assert loaded(f"import {module}", LIBRARIES, tmp_path) == []
