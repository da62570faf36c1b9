"""The real CLIs in the engines beside Docker: one success each, with the skill seen and a file left."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from harnesses.cli_harness import CliSettings
from harnesses.outcome import Outcome
from sandboxes.bubblewrap import BubblewrapSandbox
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.process import ProcessSandbox
from sandboxes.sandbox import Sandbox, SandboxError
from tests.integration.harnesses.conftest import Bench, Kind
from tests.support.agents import door_policy, installed
from tests.support.upstream import Upstream
from tests.support.wire import Step

pytestmark = pytest.mark.clis
COUNT = "wc -l < in.csv > answer.txt && cat answer.txt"


async def succeeds(kind: Kind, sandbox: Sandbox, folder: Path) -> None:
    try:
        await sandbox.facts()
    except SandboxError as error:
        pytest.skip(str(error))
    gateway = ModelGateway(folder / "s")
    try:
        async with Upstream([kind.run(COUNT), Step(text="It has 3 lines.")]) as provider:
            policy = door_policy(kind.provider, provider.base_url(kind.provider))
            harness = kind.harness(sandbox, gateway, CliSettings(installed(kind.cli), policy))
            given = Bench(kind, sandbox, gateway, folder).assignment()  # type: ignore[arg-type]
            attempt = await harness.run(given)
    finally:
        await gateway.close()
    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert attempt.workspace.files["answer.txt"] == b"3\n"
    assert (attempt.trace.skill_listed, attempt.trace.skill_opened) == (True, True)
    assert attempt.engine is not None
    assert attempt.engine.engine == sandbox.name


@pytest.mark.bubblewrap
async def test_bubblewrap(kind: Kind, short_folder: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed")
    await succeeds(kind, BubblewrapSandbox(None, owner="honed-tests"), short_folder)


async def test_process(kind: Kind, short_folder: Path) -> None:
    await succeeds(kind, ProcessSandbox(owner="honed-tests"), short_folder)
