"""Telling opens what is configured, nothing else, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

from daemon.telling import lag
from daemon.telling.events import Bus
from daemon.telling.telling import Telling
from sandboxes.gateway.heard import Answered
from sandboxes.gateway.policy import Usage
from tests.support.desk import FakeDesk
from tests.support.telling import an_attempt, configured
from tests.support.waiting import PATIENCE_S


async def page(port: int | None) -> str:
    url = f"http://127.0.0.1:{port}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return await answer.text()


async def test_events_requests_and_lag_reach_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "EVERY_S", 0.01)
    desk, config = FakeDesk(), configured(tmp_path, '[daemon]\nlisten = "127.0.0.1:0"\n')
    async with Telling.open(desk, desk.events, config) as telling:
        an_attempt(desk.events)
        telling.heard(Answered("openai", "m", "ok", 1.0, Usage(1, 2, 0, 3)))
        async with asyncio.timeout(PATIENCE_S):
            while "honed_event_loop_lag_seconds_count" not in await page(telling.port):
                await asyncio.sleep(0.01)
        text = await page(telling.port)
    assert 'honed_attempts_total{harness="codex",outcome="completed",project="greeting"} 1.0' in text
    assert 'honed_model_tokens_total{kind="output",model="m",provider="openai"} 3.0' in text
    with pytest.raises(aiohttp.ClientConnectorError):
        await page(telling.port)
    an_attempt(desk.events)
    assert f"{telling.counting.book.values['honed_events_total']}" == "{('attempt',): 1.0}"


async def test_without_configuration_nothing_listens(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with Telling.open(FakeDesk(), Bus(), configured(tmp_path)) as telling:
        assert telling.port is None
        assert asyncio.all_tasks() == before


def test_what_is_not_configured_is_not_imported() -> None:
    code = "import sys, daemon.telling.telling; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"prometheus_client", "opentelemetry", "daemon.telling.http"} & set(done.stdout.split())
