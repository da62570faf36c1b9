"""`python -m tests.benchmarks`: what it runs, prints and returns, with the benchmarks themselves replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from sandboxes.sandbox import SandboxError
from tests.benchmarks import __main__ as command
from tests.benchmarks.results import Result


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    async def good(n: int, say: command.Say) -> dict[str, Result]:
        say("working")
        return {"good.s": Result(0.5, "s", n)}

    async def broken(n: int, say: command.Say) -> dict[str, Result]:
        raise SandboxError("no Docker engine answers: start it")

    monkeypatch.setattr(command, "BENCHMARKS", {"good": good, "broken": broken})
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results.json")
    yield tmp_path / "results.json"
    structlog.reset_defaults()


def test_results_go_to_stdout_and_file_and_progress_to_stderr(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["good", "--n", "3", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out) == json.loads(results.read_text()) == {"good.s": {"value": 0.5, "unit": "s", "n": 3}}
    assert told.err == "working\n"


def test_what_was_measured_before_a_failure_is_kept(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 1
    assert "good.s" in json.loads(results.read_text())
    told = capsys.readouterr()
    assert told.out == ""
    assert "not measured: no Docker engine answers: start it" in told.err


def test_an_unknown_name_is_refused_with_the_known_ones(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["goods"]) == 2
    assert "no benchmark goods: choose of good, broken" in capsys.readouterr().err
    assert not results.exists()


@pytest.mark.parametrize("n", ["0", "-1", "x"])
def test_a_bad_count_is_refused(results: Path, n: str) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(["good", f"--n={n}"])
    assert ended.value.code == 2
