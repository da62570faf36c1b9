"""What is measured: both CLIs, each in its sandbox the real way and bare, against one model server.

The server is the demo's simulated model in a process of its own, so that its work weighs on both sides alike.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from pydantic import SecretStr

from daemon.demo.demo_set import CLAUDE_MODEL, CODEX_MODEL
from daemon.setup.clis import agents_folder
from daemon.setup.home import honed_home
from harnesses.claude_code import ClaudeCodeHarness
from harnesses.cli_harness import CliHarness, CliSettings
from harnesses.clis import CliBinary, CliName, find_cli
from harnesses.codex import CodexHarness
from harnesses.harness import Assignment
from harnesses.outcome import Outcome
from sandboxes.docker import DockerSandbox
from sandboxes.gateway.policy import DoorPolicy, Provider, Upstream
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.image.recipe import SANDBOX_IMAGE
from sandboxes.sandbox import Sandbox
from tests.benchmarks.bare import BenchError, run_bare

PROMPT = "Say in one sentence what you can do."
"""One request, one answer, no tool: what is left is start and end, which is what a sandbox adds to."""
DEADLINE_S = 120.0


@dataclass
class Contender:
    """One CLI, to be run either way. Each run has a fresh folder and a fresh home."""

    harness: CliHarness
    cli: CliBinary
    origin: str
    folder: Path
    _numbers: count[int] = field(default_factory=lambda: count(1))

    async def sandboxed(self) -> float:
        """Wall seconds of one attempt, from the assignment to the finished `Attempt`."""
        began = time.perf_counter()
        attempt = await self.harness.run(self._assignment("sandboxed"))
        wall_s = time.perf_counter() - began
        if attempt.outcome is not Outcome.COMPLETED:
            message = f"the sandboxed {self.cli.name} ended as {attempt.outcome}: {attempt.detail}"
            raise BenchError(message)
        return wall_s

    async def bare(self) -> float:
        """Wall seconds of one run of the bare CLI."""
        return await run_bare(self.harness, self.cli, self._assignment("bare"), self.origin)

    def _assignment(self, kind: str) -> Assignment:
        name = f"{self.cli.name}-{kind}-{next(self._numbers)}"
        folder = self.folder / name
        folder.mkdir()
        return Assignment(name, "bench", PROMPT, folder, deadline_s=DEADLINE_S)


@asynccontextmanager
async def contenders() -> AsyncIterator[Mapping[CliName, Contender]]:
    """Both CLIs, ready to run. Raises `SandboxError` or `CliError` with the remedy if the machine is not set up."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="honed-bench-")))
        sandbox = DockerSandbox(SANDBOX_IMAGE, owner=folder.name)
        await sandbox.facts()
        origin = await stack.enter_async_context(model_server())
        gateway = ModelGateway(folder / "doors")
        stack.push_async_callback(gateway.close)
        yield {
            "codex": _contender(CodexHarness, "codex", "openai", origin, folder, sandbox, gateway),
            "claude": _contender(ClaudeCodeHarness, "claude", "anthropic", origin, folder, sandbox, gateway),
        }


def _contender(
    kind: type[CodexHarness | ClaudeCodeHarness],
    name: CliName,
    provider: Provider,
    origin: str,
    folder: Path,
    sandbox: Sandbox,
    gateway: ModelGateway,
) -> Contender:
    cli = find_cli(agents_folder(honed_home()), name)
    base_url = f"{origin}/v1" if provider == "openai" else origin
    policy = DoorPolicy(
        Upstream(provider, base_url, SecretStr("simulated-model-needs-no-key")),
        CODEX_MODEL if provider == "openai" else CLAUDE_MODEL,
    )
    return Contender(kind(sandbox, gateway, CliSettings(cli, policy)), cli, origin, folder)


@asynccontextmanager
async def model_server() -> AsyncIterator[str]:
    """The simulated model in a process of its own; yields its address without a path."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "daemon.demo.server"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        said = (await process.stdout.readline()).decode()
        address = re.search(r"http://127\.0\.0\.1:\d+", said)
        if address is None:
            message = f"the simulated model did not start: {said!r}"
            raise BenchError(message)
        yield address[0]
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
