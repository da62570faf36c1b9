"""Tries attacks: each on a stage of its own, under a deadline, with whatever it leaves counted against it."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
import time
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from sandboxes.cgroup import left_groups, remove_group
from sandboxes.engine_client import ENGINE_ERRORS, address, connected
from sandboxes.sandbox import SandboxError
from tests.hostile.attack import Attack, BrokenError, Stage, UntriedError

DEADLINE_S = 240.0


class Verdict(StrEnum):
    """What became of an attack."""

    HELD = "held"
    BROKEN = "BROKEN"
    UNTRIED = "not tried"


@dataclass(frozen=True)
class Tried:
    """An attack and what was seen."""

    attack: Attack
    verdict: Verdict
    observed: str
    wall_s: float


async def attempt(one: Attack) -> Tried:
    """Try one attack. Whatever it raises but `UntriedError` breaks it: one that fails by itself shows nothing."""
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    owner = f"hostile-{uuid.uuid4().hex}"
    try:
        verdict, observed = await _tried(one, folder, owner)
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    if left := await asyncio.to_thread(_left, owner):
        verdict, observed = Verdict.BROKEN, f"{observed}; left behind: {', '.join(left)}"
    return Tried(one, verdict, " ".join(observed.split()), time.monotonic() - began)


async def _tried(one: Attack, folder: Path, owner: str) -> tuple[Verdict, str]:
    try:
        async with asyncio.timeout(DEADLINE_S), AsyncExitStack() as stack:
            return Verdict.HELD, await one.run(Stage(folder, stack, owner))
    except (UntriedError, pytest.skip.Exception) as error:
        return Verdict.UNTRIED, str(error)
    except BrokenError as error:
        return Verdict.BROKEN, str(error)
    except TimeoutError:
        return Verdict.BROKEN, f"did not end within {DEADLINE_S:g} s"
    except (Exception, pytest.fail.Exception) as error:
        return Verdict.BROKEN, f"{type(error).__name__}: {error}"


def _left(owner: str) -> list[str]:
    groups = left_groups(f"honed-{hashlib.sha256(owner.encode()).hexdigest()[:8]}-")
    for group in groups:
        remove_group(group)
    return [*_containers(owner), *(str(group) for group in groups)]


def _containers(owner: str) -> list[str]:
    try:
        with connected(address()) as client:
            found: list[dict[str, Any]] = client.api.containers(all=True, filters={"label": f"honed.owner={owner}"})
            for container in found:
                client.api.remove_container(container["Id"], force=True, v=True)
    except (SandboxError, *ENGINE_ERRORS):  # no engine: nothing can be left in it
        return []
    return [str(container["Names"]) for container in found]
