"""A provider that does not work ends `honed train` in one line that names it and its key, with no score recorded."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from daemon.demo.server import SimulatedModel
from tests.support.honed_cli import Ran, environment, git, honed, journal_rows, scored_count
from tests.support.projects import chat_project, demo_project
from tests.support.upstream import Upstream
from tests.support.wire import Step

KEY = "sk-test-0123456789abcdefghij"
FAILING = {
    "auth": Step(
        status=401, body={"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}
    ),
    "model": Step(status=404, body={"error": {"message": "The model does not exist", "code": "model_not_found"}}),
    "rate": Step(status=429, body={"error": {"message": "slow down", "code": "rate_limit_exceeded"}}),
    "server": Step(status=500, body={"error": {"message": "boom"}}),
}
EXPECTED = {"auth": "401", "model": "404", "rate": "429", "server": "500"}


async def train(project: Path, *, key: str = KEY) -> Ran:
    """In a thread, so that the provider in this process can answer."""
    return await asyncio.to_thread(honed, "train", "--json", cwd=project, env=environment(TEST_API_KEY=key))


def assert_stopped_clean(ran: Ran, project: Path) -> None:
    assert ran.code == 3, ran.stderr
    assert KEY not in ran.stdout + ran.stderr
    assert ran.result["error"]["message"] == ran.error
    assert journal_rows(project, "SELECT count(*) FROM attempts WHERE score IS NOT NULL") == [(0,)]
    assert git(project, "branch", "--list", "honed/*") == ""


@pytest.mark.parametrize("kind", FAILING)
async def test_a_provider_that_always_fails_stops_the_run(kind: str, tmp_path: Path) -> None:
    async with Upstream([FAILING[kind]]) as provider:
        project = chat_project(tmp_path / "p", provider.base_url("openai"))
        ran = await train(project)
        asked = len(provider.requests)
    assert_stopped_clean(ran, project)
    assert EXPECTED[kind] in ran.error
    assert "openai" in ran.error
    assert "127.0.0.1" in ran.error
    assert ("TEST_API_KEY" in ran.error) or kind in {"rate", "server", "model"}
    assert 1 <= asked <= 4


async def test_an_unreachable_provider_stops_the_run(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        project = chat_project(tmp_path / "p", f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        ran = await train(project)
    assert_stopped_clean(ran, project)
    assert "openai" in ran.error
    assert "unreachable" in ran.error or "connect" in ran.error


async def test_a_provider_that_dies_in_the_middle_stops_the_run_and_the_next_one_goes_on(tmp_path: Path) -> None:
    project = demo_project(tmp_path / "p", chat=True)
    async with SimulatedModel() as model:
        _point_at(project, model.openai_base_url)
        running = asyncio.create_task(train(project))
        await _scored(project, running, 3)
    first = await running
    assert first.code == 3, first.stderr
    paid = journal_rows(project, "SELECT key FROM attempts WHERE score IS NOT NULL")
    assert len(paid) >= 3
    async with SimulatedModel() as model:
        _point_at(project, model.openai_base_url)
        second = await train(project)
    assert second.code == 0, second.stderr
    assert second.result["score"]["selection"]["after"] > second.result["score"]["selection"]["before"]


async def test_any_openai_compatible_server_will_do(tmp_path: Path) -> None:
    project = demo_project(tmp_path / "p", chat=True)
    async with SimulatedModel() as model:
        _point_at(project, model.openai_base_url)
        ran = await train(project)
    assert ran.code == 0, ran.stderr
    assert ran.result["commits"]
    assert ran.result["commits"][-1] == git(project, "rev-parse", "honed/" + ran.result["skill"].rsplit("/", 1)[-1])


async def test_a_missing_key_is_named(tmp_path: Path) -> None:
    project = chat_project(tmp_path / "p", "http://127.0.0.1:9/v1")
    ran = await train(project, key="")
    assert ran.code == 2
    assert "TEST_API_KEY" in ran.error


def _point_at(project: Path, base_url: str) -> None:
    config = project / "honed.toml"
    lines = [
        f'base_url = "{base_url}"' if line.startswith("base_url") else line for line in config.read_text().splitlines()
    ]
    config.write_text("\n".join(lines) + "\n")


async def _scored(project: Path, running: asyncio.Task[Ran], count: int) -> None:
    """Wait until `count` attempts of a running training are scored."""
    while not running.done() and scored_count(project) < count:
        await asyncio.sleep(0.01)
