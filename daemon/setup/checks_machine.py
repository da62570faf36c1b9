"""Rows of `honed doctor` about the machine: programs, engine, image, CLIs, disk."""

from __future__ import annotations

import asyncio
import platform
import re
import shutil
from pathlib import Path
from typing import Literal

from daemon.setup.check import Check, State
from daemon.setup.clis import agents_folder, pins
from daemon.setup.docker_ping import engine_address
from daemon.setup.engine import EngineReport
from harnesses.clis import CliError, CliName, ask_version, find_cli
from sandboxes.bubblewrap import BubblewrapSandbox
from sandboxes.docker import DockerSandbox, UnknownRuntimeError
from sandboxes.image.command import run_command
from sandboxes.image.image import image_status
from sandboxes.image.rootfs import rootfs_status
from sandboxes.sandbox import GIB, MIB, SandboxError

SETUP = "honed setup"
_OLDEST_GIT = (2, 30)
Engine = Literal["docker", "bubblewrap", "process"]
Wanted = Literal["auto", "docker", "bubblewrap", "process"]


async def python_check() -> Check:
    """The interpreter; it runs, so it is new enough."""
    return Check("python", "ok", platform.python_version())


async def git_check() -> Check:
    """Git is there and knows the options we use."""
    finished = await run_command(["git", "--version"], timeout_s=10)
    found = re.search(r"(\d+)\.(\d+)", finished.output)
    if finished.code or found is None:
        return Check("git", "fail", finished.last_line, "install git 2.30 or newer")
    if (int(found[1]), int(found[2])) < _OLDEST_GIT:
        return Check("git", "fail", f"{finished.last_line} is too old", "install git 2.30 or newer")
    return Check("git", "ok", finished.last_line.removeprefix("git version "))


def engine_check(
    wanted: Wanted,
    *,
    docker: EngineReport | str,
    bubblewrap: str | None,
    needed: bool = True,
    unsandboxed_ok: bool = False,
) -> tuple[Check, Engine]:
    """What boxes would run with, and its row. Pure.

    `docker`: the running engine, or why there is none; `bubblewrap`: None if it works, else why not; `needed`: False
    where nothing runs in a box; `unsandboxed_ok`: plain processes may be used.
    """
    if wanted in ("auto", "docker") and isinstance(docker, EngineReport):
        return Check("engine", "ok", f"docker {docker.version} at {docker.address}"), "docker"
    problem: State = "fail" if needed else "warn"
    why = f"{docker}" if isinstance(docker, str) else ""
    if wanted == "docker":
        return Check("engine", problem, why, f'{SETUP} as root, or [sandbox] engine = "auto"'), "docker"
    if wanted in ("auto", "bubblewrap") and bubblewrap is None:
        if wanted == "bubblewrap":
            return Check("engine", "ok", "bubblewrap"), "bubblewrap"
        return Check("engine", "warn", f"bubblewrap, weaker than Docker: {why}", f"{SETUP} as root"), "bubblewrap"
    if wanted == "bubblewrap":
        return Check("engine", problem, f"bubblewrap does not work: {bubblewrap}", SETUP), "bubblewrap"
    detail = "plain processes only, which isolate nothing"
    if wanted == "auto":
        detail += f": {why}; bubblewrap: {bubblewrap}"
    state: State = "warn" if unsandboxed_ok or not needed else "fail"
    return Check("engine", state, detail, f"{SETUP} as root, or allow_unsandboxed = true in [sandbox]"), "process"


async def rootfs_check(home: Path) -> Check:
    """What bubblewrap shows agents as their system, and what it lacks here."""
    rootfs = await asyncio.to_thread(rootfs_status, home)
    try:
        facts = await BubblewrapSandbox(rootfs.path if rootfs else None, owner="doctor").facts()
    except SandboxError as error:
        return Check("image", "fail", str(error), SETUP)
    shown = f"root file system {facts.image_digest[:19]}"
    return Check("image", "warn", f"{shown}; lacks: {'; '.join(facts.lacks)}", f"{SETUP} as root, for Docker")


async def image_check(
    engine: Engine, image: str, *, home: Path, own: bool, needed: bool = True, runtime: str | None = None
) -> Check:
    """What agents get as their system, and what the engine lacks; `own`: the image is honed's own."""
    if engine == "process":
        return Check("image", "ok", "plain processes use none")
    if engine == "bubblewrap":
        return await rootfs_check(home)
    problem: State = "fail" if needed else "warn"
    address = engine_address()
    try:
        facts = await image_status(address, image=image)
        if facts is None:
            remedy = SETUP if own else f"docker pull {image}, or remove image from [sandbox]"
            return Check("image", problem, f"{image} is not in the engine", remedy)
        lacks = (await DockerSandbox(image, owner="doctor", base_url=address, runtime=runtime).facts()).lacks
    except SandboxError as error:
        known = not isinstance(error, UnknownRuntimeError)
        return Check("image", problem, str(error), SETUP if known else "install it, or remove runtime from [sandbox]")
    shown = f"{image} {facts.digest[:19]}"
    if lacks:
        return Check("image", "warn", f"{shown}; {'; '.join(lacks)}", "use an engine whose kernel has these limits")
    return Check("image", "ok", shown)


async def cli_check(name: CliName, home: Path, *, needed: bool) -> Check:
    """One CLI: it is there, runs, and is the pinned version."""
    shown = "claude-code" if name == "claude" else name
    pinned = pins()[shown]
    state: State = "fail" if needed else "warn"
    try:
        cli = await asyncio.to_thread(find_cli, agents_folder(home), name)
        version = await ask_version(cli)
    except CliError as error:
        return Check(shown, state, str(error), SETUP)
    if version != pinned:
        return Check(
            shown, state, f"{cli.path} is {version}, pinned is {pinned}", f"rm -r {agents_folder(home)}; {SETUP}"
        )
    return Check(shown, "ok", f"{version} {cli.path}")


async def disk_check(folder: Path, *, attempts: int, attempt_bytes: int) -> Check:
    """Room for the attempts that run at once, each with a workspace of up to `attempt_bytes`."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = (await asyncio.to_thread(shutil.disk_usage, there)).free
    detail = f"{free / GIB:.1f} GiB free at {there}"
    if free < 512 * MIB:
        return Check("disk", "fail", detail, "make room: the journal and the workspaces are kept there")
    if free < (wanted := attempts * attempt_bytes + GIB):
        return Check("disk", "warn", f"{detail}, {wanted / GIB:.1f} may be used", "make room, or lower workspace_mb")
    return Check("disk", "ok", detail)
