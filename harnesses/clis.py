"""The pinned CLIs on the host: where their native binaries are, and which version they are.

The layout is npm's: `<root>/node_modules/<platform package>/…`. Each CLI's folder is shown read-only inside a box as
`/opt/agents/<name>`; Node is not needed at run time.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandboxes.sandbox import Mount

CliName = Literal["codex", "claude"]
TOOLS = "/opt/agents"
PYTHON_TOOLS = f"{TOOLS}/python"
"""Where a box may be shown a Python of ours; nothing is there in the sandbox image, which has its own."""
PATH = f"{PYTHON_TOOLS}/bin:/usr/local/bin:/usr/bin:/bin"
"""The agent's PATH inside a box."""
_VERSION_S = 30.0
_PLACES: dict[CliName, tuple[tuple[str, str], ...]] = {
    "codex": (
        ("node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl", "bin/codex"),
        ("node_modules/@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl", "bin/codex"),
    ),
    "claude": (
        ("node_modules/@anthropic-ai/claude-code-linux-x64", "claude"),
        ("node_modules/@anthropic-ai/claude-code-linux-arm64", "claude"),
    ),
}


class CliError(Exception):
    """A CLI is missing or does not run; `str()` names the path and the command that mends it."""


@dataclass(frozen=True)
class CliBinary:
    """One CLI on the host."""

    name: CliName
    folder: Path
    """What is shown inside."""
    program: str
    """The binary's path inside `folder`."""
    version: str = ""

    @property
    def path(self) -> Path:
        """Host path of the binary."""
        return self.folder / self.program

    @property
    def mount(self) -> Mount:
        """How it is shown inside a box."""
        return Mount(self.folder, f"{TOOLS}/{self.name}")

    def inside(self, tools: str) -> str:
        """The binary's path inside a box whose layout has these tools."""
        return f"{tools}/{self.name}/{self.program}"

    @property
    def present(self) -> bool:
        """The file is there and may be run."""
        return self.path.is_file() and bool(self.path.stat().st_mode & 0o111)


def find_cli(root: Path, name: CliName, *, version: str = "") -> CliBinary:
    """A CLI under the folder that `npm ci` was run in; raises `CliError` if it is not there."""
    for folder, program in _PLACES[name]:
        found = CliBinary(name, root / folder, program, version)
        if found.present:
            return found
    message = f"no {name} binary under {root / 'node_modules'}: run `honed setup`"
    raise CliError(message)


async def ask_version(cli: CliBinary) -> str:
    """What the binary says its version is; raises `CliError` if it does not run.

    Runs on the host with an empty environment and a home that is thrown away: Codex writes to it even for this.
    """
    with tempfile.TemporaryDirectory(prefix="honed-version-") as home:
        return await _ask(cli, home)


async def _ask(cli: CliBinary, home: str) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            str(cli.path),
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "HOME": home},
        )
    except OSError as error:
        message = f"{cli.path} does not run ({error.strerror}): run `honed setup`"
        raise CliError(message) from error
    try:
        async with asyncio.timeout(_VERSION_S):
            output, _ = await process.communicate()
    except BaseException as error:
        process.kill()
        await process.wait()
        if not isinstance(error, TimeoutError):
            raise
        message = f"{cli.path} --version did not end within {_VERSION_S:g} s: run `honed setup`"
        raise CliError(message) from error
    found = re.search(rb"\d+\.\d+\.\d+", output)
    if process.returncode != 0 or found is None:
        message = f"{cli.path} --version failed (exit code {process.returncode}): run `honed setup`"
        raise CliError(message)
    return found.group().decode()


@dataclass(frozen=True)
class AgentBinaries:
    """Both CLIs, with the versions they themselves tell."""

    codex: CliBinary
    claude: CliBinary


async def find_binaries(root: Path) -> AgentBinaries:
    """Both CLIs under `root`, asked for their versions; raises `CliError`."""
    found = [find_cli(root, name) for name in ("codex", "claude")]
    codex, claude = await asyncio.gather(*map(ask_version, found))
    return AgentBinaries(
        CliBinary(found[0].name, found[0].folder, found[0].program, codex),
        CliBinary(found[1].name, found[1].folder, found[1].program, claude),
    )
