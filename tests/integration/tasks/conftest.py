from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.tasks.scorers.scorer import Context
from sandboxes.sandbox import MIB, Limits, Sandbox
from tests.support.sandboxes import bubblewrap_engine, docker_engine, process_engine

OWNER = "honed-tests-verify"


def verifying(sandbox: Sandbox, folder: Path) -> Context:
    """What a scorer gets, with scratch in a folder of its own."""
    scratch = folder / "scratch"
    scratch.mkdir()
    return Context(sandbox=sandbox, folder=scratch, limits=Limits(memory_bytes=512 * MIB, cpus=1.0))


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """Docker."""
    return verifying(docker_engine(OWNER).sandbox, tmp_path)


@pytest.fixture(
    params=[
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
        "process",
    ]
)
def any_context(request: pytest.FixtureRequest, tmp_path: Path) -> Context:
    """Every real engine."""
    if request.param == "docker":
        return verifying(docker_engine(OWNER).sandbox, tmp_path)
    if request.param == "process":
        return verifying(process_engine(OWNER).sandbox, tmp_path)
    return verifying(asyncio.run(bubblewrap_engine(OWNER)).sandbox, tmp_path)
