"""Which engine to use on this machine: the best that really works, each step down said aloud.

An engine's module is imported when it is asked: a chat model needs none, and Docker's client library is large.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandboxes.sandbox import Sandbox, SandboxError

Preference = Literal["auto", "docker", "bubblewrap", "process"]
_ANSWER_S = 30.0


@dataclass(frozen=True)
class Choice:
    """What was chosen. `reasons` are sentences for people: why not something better, and what this one lacks."""

    sandbox: Sandbox
    reasons: tuple[str, ...]


async def choose_engine(
    preference: Preference,
    *,
    image: str,
    rootfs: Path | None,
    owner: str,
    docker_url: str | None = None,
    runtime: str | None = None,
) -> Choice:
    """Docker if it answers and has the image, else bubblewrap if namespaces work, else plain processes.

    A preference other than `auto` is taken or refused: `SandboxError` with the remedy, never a silent fallback.
    So is a `runtime`, which Docker alone has.
    """
    if runtime is not None and preference not in {"auto", "docker"}:
        message = f'[sandbox] runtime = {runtime!r} is for Docker alone: set engine = "docker", or remove the key'
        raise SandboxError(message)
    preference = "docker" if runtime is not None else preference
    engines: dict[str, Callable[[], Sandbox]] = {
        "docker": lambda: _docker(image, owner, docker_url, runtime),
        "bubblewrap": lambda: _bubblewrap(rootfs, owner),
        "process": lambda: _process(owner),
    }
    reasons: list[str] = []
    for name, engine in engines.items():
        if preference not in {"auto", name}:
            continue
        sandbox = engine()
        try:
            async with asyncio.timeout(_ANSWER_S):
                facts = await sandbox.facts()
        except (SandboxError, TimeoutError) as error:
            problem = str(error) or "no answer"
            if preference == name:
                message = f"[sandbox] engine = {name!r} cannot be used: {problem}"
                raise SandboxError(message) from error
            reasons.append(f"{name} is not used: {problem}")
            continue
        if name != "docker" and facts.lacks:
            kind = "NOT ISOLATED, " if not facts.isolated else ""
            reasons.append(f"{name} is used ({kind}less than Docker): {'; '.join(facts.lacks)}")
        elif facts.lacks:
            reasons.append(f"{name} lacks: {'; '.join(facts.lacks)}")
        return Choice(sandbox, tuple(reasons))
    message = f"[sandbox] engine = {preference!r} is not known: use auto, docker, bubblewrap or process"
    raise SandboxError(message)


def _docker(image: str, owner: str, url: str | None, runtime: str | None) -> Sandbox:
    from sandboxes.docker import DockerSandbox  # noqa: PLC0415 - see above

    return DockerSandbox(image, owner=owner, base_url=url, runtime=runtime)


def _bubblewrap(rootfs: Path | None, owner: str) -> Sandbox:
    from sandboxes.bubblewrap import BubblewrapSandbox  # noqa: PLC0415 - see above

    return BubblewrapSandbox(rootfs, owner=owner)


def _process(owner: str) -> Sandbox:
    from sandboxes.process import ProcessSandbox  # noqa: PLC0415 - see above

    return ProcessSandbox(owner=owner)
