"""The real engine, gateway and CLIs, put together for one test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harnesses.claude_code import ClaudeCodeHarness
from harnesses.cli_harness import CliHarness, CliSettings
from harnesses.clis import CliName
from harnesses.codex import CodexHarness
from harnesses.harness import Assignment
from sandboxes.docker import DockerSandbox
from sandboxes.gateway.policy import Caps, Provider
from sandboxes.gateway.proxy import ModelGateway
from tests.support.agents import SKILL, door_policy, installed
from tests.support.sandboxes import docker_image
from tests.support.upstream import Upstream
from tests.support.wire import Call, Step


@dataclass(frozen=True)
class Kind:
    """One CLI as the tests see it."""

    harness: type[CliHarness]
    cli: CliName
    provider: Provider
    shell: str
    argument: str
    sigil: str

    def run(self, command: str) -> Step:
        """The model asks for a shell command."""
        return Step(text="", calls=(Call(self.shell, {self.argument: command}),))


KINDS = {
    "codex": Kind(CodexHarness, "codex", "openai", "exec_command", "cmd", "$"),
    "claude-code": Kind(ClaudeCodeHarness, "claude", "anthropic", "Bash", "command", "/"),
}


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for unix sockets."""
    folder = Path(tempfile.mkdtemp(prefix="honed-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Bench:
    """Everything but the script of the provider."""

    kind: Kind
    sandbox: DockerSandbox
    gateway: ModelGateway
    folder: Path
    count: int = 0

    def harness(self, provider: Upstream, *, caps: Caps | None = None, tries: int = 1) -> CliHarness:
        policy = door_policy(self.kind.provider, provider.base_url(self.kind.provider), caps=caps, tries=tries)
        return self.kind.harness(self.sandbox, self.gateway, CliSettings(installed(self.kind.cli), policy))

    def assignment(self, **changes: Any) -> Assignment:
        self.count += 1
        given = {
            "attempt_id": f"it-{self.folder.name[-8:].replace('_', 'x')}-{self.count}".lower(),
            "task_id": "count-1",
            "prompt": "Count the lines of in.csv.\nWrite the number to answer.txt.",
            "folder": self.folder / f"attempt-{self.count}",
            "files": {"in.csv": b"a\nb\nc\n"},
            "skill": SKILL,
            "deadline_s": 240.0,
        }
        return Assignment(**{**given, **changes})


@pytest.fixture
async def bench(kind: Kind, short_folder: Path) -> AsyncIterator[Bench]:
    image = docker_image()
    installed(kind.cli)
    gateway = ModelGateway(short_folder / "s")
    sandbox = DockerSandbox(image, owner="honed-tests")
    try:
        yield Bench(kind, sandbox, gateway, short_folder)
    finally:
        await gateway.close()
