from __future__ import annotations

import asyncio

import pytest

from sandboxes.bubblewrap import BubblewrapSandbox
from sandboxes.bubblewrap_run import Setup
from sandboxes.namespaces import Way


async def test_boxes_opened_side_by_side_probe_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox = BubblewrapSandbox(owner="me")
    probes = []

    async def probe() -> Setup:
        probes.append(1)
        await asyncio.sleep(0.01)
        return Setup(way=Way(user_namespace=True), root=None, cgroups=len(probes) == 1)

    monkeypatch.setattr(sandbox, "_probe", probe)
    setups = await asyncio.gather(*(sandbox._ready() for _ in range(3)))
    assert len(probes) == 1
    assert all(setup.cgroups for setup in setups)
