"""The agents' CLIs at their pinned versions, by `npm ci` from the packaged lock.

Invariants: the folder under its final name is complete and its binaries told the pinned versions; no install script
ran; the native binaries are run directly, so Node is not needed afterwards.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from daemon.setup.errors import SetupError
from harnesses.clis import CliError, find_binaries
from sandboxes.image.command import Say, find_program, run_command
from sandboxes.image.scratch import set_up_lock, temporary_folder

CODEX = "@openai/codex"
CLAUDE = "@anthropic-ai/claude-code"
_FILES = ("package.json", "package-lock.json")
_NPM = (
    *("npm", "ci", "--ignore-scripts", "--omit=dev", "--include=optional", "--no-audit", "--no-fund"),
    *("--engine-strict=false", "--no-update-notifier", "--loglevel=error"),
)
_NEEDED_BYTES = 2 * 1024**3
_MACHINES = ("x86_64", "aarch64", "arm64")


@dataclass(frozen=True)
class AgentPaths:
    """The native binaries."""

    root: Path
    """The folder that holds `node_modules`: what `harnesses.clis.find_binaries` takes."""
    codex: Path
    claude: Path
    versions: Mapping[str, str]
    """`codex` and `claude-code` to the version that the binary told."""


def _packaged(name: str) -> str:
    return resources.files("daemon.setup").joinpath("agents", name).read_text(encoding="utf-8")


def pins() -> dict[str, str]:
    """`codex` and `claude-code` to their pinned versions."""
    wanted = json.loads(_packaged("package.json"))["dependencies"]
    return {"codex": wanted[CODEX], "claude-code": wanted[CLAUDE]}


def agents_folder(home: Path) -> Path:
    """Where this lock's CLIs are, or will be; another lock is another folder."""
    digest = hashlib.sha256("\0".join(_packaged(name) for name in _FILES).encode()).hexdigest()[:12]
    return home / "agents" / digest


async def clis_status(home: Path) -> AgentPaths | None:
    """The CLIs if both are there and tell the pinned versions, else None."""
    try:
        paths = await _found(agents_folder(home))
    except CliError:
        return None
    return paths if paths.versions == pins() else None


async def _found(root: Path) -> AgentPaths:
    """Both binaries with the versions they tell; raises `CliError`."""
    found = await find_binaries(root)
    versions = {"codex": found.codex.version, "claude-code": found.claude.version}
    return AgentPaths(root, found.codex.path, found.claude.path, versions)


async def ensure_clis(home: Path, say: Say) -> AgentPaths:
    """Bring both CLIs under `home` and tell where; raises `SetupError` with the remedy."""
    if found := await clis_status(home):
        return found
    if platform.machine() not in _MACHINES:
        msg = f"Codex and Claude Code are not made for {platform.machine()}: use x86_64 or arm64, or the chat harness"
        raise SetupError(msg)
    async with set_up_lock(home, "agents", say):
        if found := await clis_status(home):
            return found
        async with temporary_folder(home / "agents") as folder:
            await _install(folder, say)
            await _check(folder)
            await asyncio.to_thread(_replace, folder, agents_folder(home))
    return await _found(agents_folder(home))


async def _check(folder: Path) -> None:
    """Both binaries run and tell the pinned versions; `SetupError` otherwise."""
    try:
        versions = (await _found(folder)).versions
    except CliError as error:
        msg = f"npm brought the CLIs, but they do not run on this machine (glibc is needed): {error}"
        raise SetupError(msg) from error
    if versions != pins():
        msg = f"the installed CLIs tell {dict(versions)}, not {pins()}: check npm's registry, then run `honed setup`"
        raise SetupError(msg)


def _replace(folder: Path, final: Path) -> None:
    """Put `folder` in place; what was there failed its check and goes."""
    if final.exists():
        shutil.rmtree(final)
    folder.chmod(0o755)
    folder.rename(final)


async def _install(folder: Path, say: Say) -> None:
    if find_program("npm") is None:
        msg = "npm is not installed: install Node.js with npm (needed for set-up only)"
        raise SetupError(msg)
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        msg = f"{free // 1024**2} MiB free under {folder.parent}, the CLIs need {_NEEDED_BYTES // 1024**2}: make room"
        raise SetupError(msg)
    for name in _FILES:
        (folder / name).write_text(_packaged(name), encoding="utf-8")
    versions = pins()
    say(f"installing Codex {versions['codex']} and Claude Code {versions['claude-code']} with npm (about 800 MiB)")
    finished = await run_command(_NPM, timeout_s=1200, cwd=folder)
    if finished.code:
        errors = [line for line in finished.output.splitlines() if line.startswith("npm error")]
        detail = " ".join(errors[:3]) or finished.last_line
        msg = f"npm could not install the CLIs: {detail}; check the network and npm's registry (`npm ping`)"
        raise SetupError(msg)
