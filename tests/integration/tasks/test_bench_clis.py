"""Benchmarks through the real Codex and Claude Code in Docker: workbooks are filled, pages seen, and games won.

The items are the samples; where ALFWorld's engine is installed, also its real games: honed's own, and the public ones
where they are at hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon.cli.app import build
from daemon.tasks.episodes.engines import missing
from daemon.tasks.published import PUBLISHED
from tests.support.agents import installed
from tests.support.alfworld_games import make_games
from tests.support.sandboxes import docker_image
from tests.support.tasks import real_data

pytestmark = [pytest.mark.docker, pytest.mark.clis, pytest.mark.slow]

CONFIG = """\
[skill]
path = "skills/none"
[tasks]
path = "none.jsonl"
[target]
harness = "{harness}"
provider = "{provider}"
model = "{model}"
base_url = "simulated:"
[optimizer]
model = "none"
base_url = "simulated:"
[sandbox]
engine = "docker"
image = "{image}"
"""
KINDS = {"codex": ("openai", "gpt-5.5"), "claude-code": ("anthropic", "claude-opus-5-5")}


@pytest.fixture(params=list(KINDS))
def harness(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    image = docker_image()
    installed("codex" if name == "codex" else "claude")
    monkeypatch.chdir(tmp_path)
    provider, model = KINDS[name]
    text = CONFIG.format(harness=name, provider=provider, model=model, image=image)
    (tmp_path / "honed.toml").write_text(text)
    return name


def cell(name: str, harness: str, *which: str) -> dict[str, Any]:
    words = [
        "bench",
        name,
        *(which or ("--sample",)),
        "--skill",
        "initial",
        "--harness",
        harness,
        "--limit",
        "2",
        "--json",
    ]
    done = CliRunner().invoke(build(("bench", "log")), words)
    assert done.exit_code == 0, done.output
    data: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert (data["harness"], data["sandbox"], data["valid"], data["invalid"]) == (harness, "docker", 2, {})
    return data


def test_a_workbook_is_filled_and_scored_cell_by_cell(harness: str) -> None:
    assert cell("spreadsheetbench", harness)["score"] == 1.0


def test_a_page_reaches_the_model_as_an_image(harness: str) -> None:
    """The simulated model can only answer out of the bytes of the image that it is sent."""
    assert cell("docvqa", harness)["score"] == 1.0


def test_a_game_outside_is_won_by_a_command_of_the_sandbox(harness: str) -> None:
    assert cell("alfworld", harness)["score"] == 1.0


real_engine = pytest.mark.skipif(bool(missing("alfworld")), reason="the extra honed[alfworld] is not installed")


@real_engine
def test_alfworlds_own_engine_is_won_by_a_command_of_the_sandbox(harness: str, tmp_path: Path) -> None:
    make_games(tmp_path / "data" / "alfworld" / "json_2.1.1")
    assert cell("alfworld", harness, "--data", str(tmp_path / "data"), "--ratio", "1:1:6")["score"] == 1.0


@real_engine
def test_the_public_games_are_won_by_a_command_of_the_sandbox(harness: str) -> None:
    real_data("alfworld")
    data = cell("alfworld", harness, "--data", str(real_data(".")), "--split", "selection")
    assert (data["score"], data["manifest"]["digest"]) == (1.0, PUBLISHED["ALFWorld"])
