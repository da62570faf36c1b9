"""debootstrap: a Debian tree made from the machine's own package mirror, for machines without an image registry."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from sandboxes.image import apt, mirror, recipe
from sandboxes.image.command import Say, find_program, run_command
from sandboxes.image.tree import tidy
from sandboxes.sandbox import SandboxError

_STAGES = ("Checking Release signature", "Installing core", "Unpacking the base", "Configuring the base")


class ImageError(SandboxError):
    """The image cannot be had; `str()` says why and what mends it."""


async def debootstrap(tree: Path, say: Say, *, may_install: bool) -> None:
    """Make the recipe's packages into `tree`; needs root. Raises `ImageError` with the remedy."""
    if os.geteuid() != 0:
        msg = "debootstrap needs root: run `honed setup` once as root, or let the engine pull the base image"
        raise ImageError(msg)
    chosen = mirror.choose_mirror(mirror.read_sources(), mirror.read_os_release())
    if chosen is None:
        msg = f"no Debian or Ubuntu mirror in /etc/apt: add one, or pull {recipe.base_image()} yourself"
        raise ImageError(msg)
    await _need_debootstrap(say, may_install=may_install)
    say(f"making the sandbox image from {chosen.shown} ({chosen.suite}) with debootstrap: about a minute")
    finished = await run_command(
        _command(chosen, tree), timeout_s=1800, env=await _proxy(), on_line=lambda line: _progress(line, say)
    )
    if finished.code:
        detail = _log_end(tree) or finished.last_line
        msg = f"debootstrap failed: {detail}; check the mirror in /etc/apt, the network and the disk"
        raise ImageError(msg)
    await asyncio.to_thread(tidy, tree)


def _log_end(tree: Path) -> str:
    log = tree / "debootstrap" / "debootstrap.log"
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.is_file() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


async def _need_debootstrap(say: Say, *, may_install: bool) -> None:
    if find_program("debootstrap"):
        return
    if not (may_install and apt.can_install()):
        msg = "debootstrap is not installed: apt-get install debootstrap"
        raise ImageError(msg)
    finished = await apt.install(["debootstrap"], say)
    if finished.code:
        msg = f"debootstrap could not be installed: {finished.last_line}; try apt-get install debootstrap yourself"
        raise ImageError(msg)


def _command(chosen: mirror.Mirror, tree: Path) -> list[str]:
    """In a mount namespace of its own, so that a killed run leaves nothing mounted."""
    keyring = [f"--keyring={chosen.keyring}"] if chosen.keyring and chosen.keyring.is_file() else []
    return [
        *("unshare", "--mount", "--propagation", "private", "debootstrap", "--variant=minbase", "--merged-usr"),
        *(f"--components={','.join(chosen.components)}", f"--include={','.join(recipe.packages())}", *keyring),
        *(chosen.suite, str(tree), chosen.uri),
    ]


async def _proxy() -> dict[str, str]:
    """The proxy for debootstrap: it downloads with wget, which does not know apt's setting."""
    finished = await run_command(["apt-config", "shell", "PROXY", "Acquire::http::Proxy"], timeout_s=10)
    value = finished.output.strip().removeprefix("PROXY=").strip("'")
    return {"http_proxy": value} if finished.code == 0 and value else {}


def _progress(line: str, say: Say) -> None:
    stage = line.removeprefix("I: ")
    if stage.startswith(_STAGES):
        say(f"debootstrap: {stage}")
