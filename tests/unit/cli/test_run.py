"""What a verb's coroutine ends in: one line, one exit code, and time to clear up."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path

import pytest
import typer

from daemon.cli.output import Output
from daemon.cli.run import _EXIT_CODES, BAD_INPUT, FAILED, INTERRUPTED, SPENT, code_of, run
from daemon.control.errors import NoDaemonError
from daemon.journal.lock import StateBusyError
from daemon.kinds import _KINDS, kind_of


def ended(work: Callable[[], Awaitable[int | None]]) -> int:
    async def coroutine() -> int | None:
        return await work()

    with pytest.raises(typer.Exit) as end:
        run(Output(as_json=True), coroutine)
    return end.value.exit_code


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    error: dict[str, str] = json.loads(capsys.readouterr().out.splitlines()[-1])["error"]
    return error


def test_a_fault_of_honed_is_one_json_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        raise LookupError("nobody\nthought of it")

    assert ended(work) == FAILED
    error = told(capsys)
    assert error["kind"] == "internal"
    assert "LookupError: nobody thought of it" in error["message"]


def test_of_tasks_that_ended_each_other_the_one_that_says_why_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        raise ExceptionGroup("tasks", [LookupError("ours"), ExceptionGroup("more", [StateBusyError(Path("/s"), 7)])])

    async def known() -> None:
        raise ExceptionGroup("tasks", [LookupError("ours"), StateBusyError(Path("/s"), 7)])

    assert ended(known) == FAILED
    assert told(capsys)["kind"] == "journal"
    assert ended(work) == FAILED
    assert told(capsys)["message"].startswith("a fault of honed: LookupError: ours")


def test_what_the_system_refuses_names_the_path(capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        raise PermissionError(13, "Permission denied", "/some/where")

    assert ended(work) == FAILED
    error = told(capsys)
    assert error["kind"] == "system"
    assert error["message"].startswith("/some/where: Permission denied")


@pytest.mark.parametrize("name", _KINDS)
def test_errors_are_known_by_the_names_they_have(name: str) -> None:
    module, _, kind = name.rpartition(".")
    found = getattr(import_module(module), kind)
    assert issubclass(found, Exception)
    assert kind_of(found.__new__(found)) == _KINDS[name]


def test_every_kind_has_a_code() -> None:
    assert set(_KINDS.values()) == set(_EXIT_CODES)
    assert (code_of("budget"), code_of("config"), code_of("what else")) == (SPENT, BAD_INPUT, FAILED)


def test_an_error_is_known_by_its_nearest_class() -> None:
    assert kind_of(StateBusyError(Path("/state"), 7)) == "journal"
    assert kind_of(NoDaemonError("none")) == "no-daemon"
    assert kind_of(LookupError("x")) == ""


def test_a_reader_that_has_gone_is_told_nothing() -> None:
    async def work() -> None:
        raise BrokenPipeError(32, "Broken pipe")

    with pytest.raises(BrokenPipeError):
        run(Output(as_json=True), work)


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_repeated_sigterm_does_not_break_the_clearing_up(
    first: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    cleared: list[str] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), first)
            await asyncio.sleep(30)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(0.05)
            cleared.append("all")

    assert ended(work) == INTERRUPTED
    assert cleared == ["all"]
    assert told(capsys)["kind"] == "interrupted"
