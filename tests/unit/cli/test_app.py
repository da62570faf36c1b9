"""The list of verbs: all of them are there, and each brings in no more than it needs."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

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
        ("--version", ()),
        ("--help --version", tuple(_MODULES)),
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


@pytest.mark.parametrize("verb", _MODULES)
def test_no_help_loses_what_stands_in_brackets(verb: str) -> None:
    """Help is drawn as markup, where [budget] would be a style: it vanished."""
    app = build((verb,))
    groups = [(group.name, part) for group in app.registered_groups for part in _commands(group.typer_instance)]
    for group, (name, command, params) in groups or [("", part) for part in _commands(app)]:
        texts = [inspect.getdoc(command.callback) or "", *params]
        words = [str(group), name, "--help"] if group else [verb, "--help"]
        shown = CliRunner().invoke(build((verb, "log")), words, env={"COLUMNS": "200", "TERM": "dumb"}).output
        for bracket in re.findall(r"\[[^\]]*\]", " ".join(texts)):
            assert bracket in shown


def _commands(app: Any) -> list[tuple[str, Any, list[str]]]:
    """Each command of an app with its name and the help of its parameters."""
    made = get_command(app)
    found = getattr(made, "commands", {app.registered_commands[0].name: made})
    commands = {command.name: command for command in app.registered_commands}
    return [
        (name, commands[name], [str(getattr(one, "help", "") or "") for one in part.params])
        for name, part in found.items()
    ]


def test_every_verb_and_every_group_shows_an_example_of_itself() -> None:
    found = dict(_tree(get_command(build()), ()))
    assert {(), ("inbox",), ("inbox", "add"), ("tasks", "split"), ("daemon",)} <= set(found)
    for words, text in found.items():
        example = re.search(r"^Example: honed (.+)$", text, re.MULTILINE)
        assert example, f"honed {' '.join(words)} --help has no example"
        given = tuple(example[1].split())
        assert given[: len(words)] == words, f"an example of another verb: {example[0]}"
    for group in {words[:-1] for words in found if words}:
        example = re.search(r"^Example: honed (.+)$", found[group], re.MULTILINE)
        assert example
        assert tuple(example[1].split()[: len(group) + 1]) in found, "it names one of the group's verbs"
        shown = CliRunner().invoke(build(), [*group, "--help"], env={"COLUMNS": "200"}).output
        assert re.search(r"^ *Example: honed \w+", shown, re.MULTILINE), group


def _tree(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every verb and group with the words that lead to it, and its help."""
    yield words, command.help or ""
    for name, part in getattr(command, "commands", {}).items():
        yield from _tree(part, (*words, name))


def test_a_section_named_in_help_is_shown() -> None:
    shown = CliRunner().invoke(build(("publish", "log")), ["publish", "--help"], env={"COLUMNS": "200"}).output
    assert "as [publish] in honed.toml says" in shown
    assert "[publish] in honed.toml" in CliRunner().invoke(build(), ["--help"], env={"COLUMNS": "200"}).output
