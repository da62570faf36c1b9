"""The list of verbs: all of them are there, and each brings in no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.main import get_command

from daemon.cli.app import _MODULES, asked, build


def test_every_verb_is_there_in_order() -> None:
    assert list(get_command(build()).commands) == list(_MODULES)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "verbs"),
    [
        ("log -n 3", ("log",)),
        ("-v --log-json eval --json", ("eval",)),
        ("--help", tuple(_MODULES)),
        ("", tuple(_MODULES)),
        ("nonsense log", tuple(_MODULES)),
        ("--version", tuple(_MODULES)),
    ],
)
def test_the_verb_that_is_asked_for(line: str, verbs: tuple[str, ...]) -> None:
    assert asked(line.split()) == verbs


@pytest.mark.parametrize("verb", ["log", "diff", "why", "revert"])
def test_reading_git_waits_for_no_client_library(verb: str) -> None:
    heavy = ("aiohttp", "openai", "anthropic", "docker", "openpyxl")
    ask = f"build(['{verb}']); print([name for name in {heavy} if name in sys.modules])"
    code = f"import sys; from daemon.cli.app import build; {ask}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
