"""The same failure has the same name in any session, and what is none has no name."""

from __future__ import annotations

import pytest

from daemon.inbox.errors import name_of, program_of
from daemon.inbox.record import LABEL_CHARS
from harnesses.traces.trace import ToolCall
from tests.support.sessions import call


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("python3 tidy.py", "python3"),
        ("cd /x && FOO=1 timeout -k 5 30s python3 -m pytest -q | tail", "pytest"),
        ("sudo /usr/bin/apt-get install x", "apt-get"),
        ("set -e; for", "for"),
        ("[ -f x ] && echo y", "["),
        ("$(whatever) x", "shell"),
        ("", "shell"),
        ("cd /x", "shell"),
        ("echo hi\nrm x", "echo"),
    ],
)
def test_the_program_of_a_command_line(command: str, program: str) -> None:
    assert program_of(command) == program


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (call("python3 t.py", "Traceback …\nKeyError: 'id'", ok=False), "python3: KeyError"),
        (call("pytest -q", "E   mod.sub.MyOwnError: x\n1 failed", ok=False), "pytest: MyOwnError"),
        (call("foo", "bash: foo: command not found", ok=False, code=127), "foo: command not found"),
        (call("cat x", "cat: x: No such file or directory", ok=False), "cat: no such file"),
        (call("make", "whatever", ok=False, code=2), "make: exit code 2"),
        (call("sleep 9", "", ok=False, code=124), "sleep: timed out"),
        (call('{"a":1}', "<tool_use_error>String to replace not found in file.", ok=False, tool="Edit"),
         "Edit: text to replace not found"),
        (call("{}", "no 'x' at /a/b line 12", ok=False, tool="sub-agent: Fetch"), "Fetch: no … at PATH line N"),
        (call("{}", "", ok=False, tool="Fetch"), "Fetch: failed"),
    ],
)  # fmt: skip
def test_a_failure_has_a_name(given: ToolCall, name: str) -> None:
    assert name_of(given) == name


@pytest.mark.parametrize(
    "given",
    [
        call("python3 t.py", "fine"),
        call("python3 t.py", "", ok=None),
        call("grep x y", "", ok=False, code=1),
        call("diff a b", "1c1", ok=False, code=1),
        call("rm -r /", "The user doesn't want to proceed with this tool use.", ok=False),
    ],
)
def test_what_is_no_failure_of_the_agent_has_none(given: ToolCall) -> None:
    assert name_of(given) == ""


def test_the_same_failure_has_one_name_whatever_it_is_about() -> None:
    one, other = (
        name_of(call("{}", f"no file '{name}' in /w/{name} at 0x{name}", ok=False, tool="Open"))
        for name in ("abc1234", "ff99ee1")
    )
    assert one == other


def test_a_hostile_name_is_bounded_and_neutral() -> None:
    name = name_of(call("{}", "\x1b[31m" + "A\u202e" * 500_000, ok=False, tool="T" * 500))
    assert len(name) <= LABEL_CHARS
    assert name.isprintable()
    assert program_of("a" * 1_000_000) == "shell"
