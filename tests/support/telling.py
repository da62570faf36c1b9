"""Configurations, events and raw requests for what the daemon tells the world."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from daemon.config import Config, load_config
from daemon.telling.events import Bus, DaemonEvent
from tests.support.streams import to_the_end
from tests.support.waiting import PATIENCE_S

HEAD = """
[skill]
path = "skills/greeting"
[tasks]
path = "tasks"
[target]
harness = "chat"
model = "m"
[optimizer]
model = "m"
"""


def configured(folder: Path, text: str = "") -> Config:
    """A configuration with these sections besides what must be there."""
    file = folder / "honed.toml"
    file.write_text(HEAD + text, encoding="utf-8")
    return load_config(file)


def an_attempt(bus: Bus, project: str = "greeting", **data: Any) -> DaemonEvent:
    """Publish an attempt as `observing.py` does."""
    given = {"harness": "codex", "outcome": "completed", "score": 1.0, "wall_s": 20.0, "reused": False, "step": 1}
    return bus.publish("attempt", "an attempt ended", project=project, job=1, **{**given, **data})


def a_step(bus: Bus, project: str = "greeting", **data: Any) -> DaemonEvent:
    """Publish an accepted step as `observing.py` does."""
    given: dict[str, Any] = {"step": 1, "update": "step", "outcome": "accepted", "reason": "better", "before": 0.4}
    given |= {"after": 0.6, "commits": ["c1", "c2"], "replayed": False, "run": "run-1"}
    return bus.publish("step", "step 1 accepted", project=project, job=1, **{**given, **data})


async def raw(port: int, request: bytes, host: str = "127.0.0.1") -> bytes:
    """What a server answers to these bytes until it closes the connection."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(request)
        await writer.drain()
        async with asyncio.timeout(PATIENCE_S):
            return await to_the_end(reader)
    finally:
        writer.close()
