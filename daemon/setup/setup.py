"""Bring everything the main job needs to this machine: engine and image, and beside them the CLIs.

Invariants: quick and silent about what is already there; what cannot be had is said aloud and reported, never raised,
since the demo and the tests have a fallback for each.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from daemon.setup.clis import AgentPaths, ensure_clis
from daemon.setup.engine import EngineReport, ensure_engine, fall_back, install_allowed
from daemon.setup.errors import SetupError
from daemon.setup.home import honed_home
from daemon.setup.machine import Machine, ThisMachine
from sandboxes.image.command import Say
from sandboxes.image.debootstrap import ImageError
from sandboxes.image.image import ImageFacts, ensure_image
from sandboxes.image.rootfs import RootfsFacts, ensure_rootfs


@dataclass(frozen=True)
class SetupReport:
    """What stands after set-up."""

    home: Path
    engine: EngineReport
    image: ImageFacts | None
    """None where boxes do not run in Docker."""
    rootfs: RootfsFacts | None
    """For bubblewrap; None where Docker is used, or where bubblewrap shows the machine's own system folders."""
    agents: AgentPaths | None
    """None where the CLIs cannot be had: the chat harness is left."""
    problems: tuple[str, ...]
    """One line with its remedy for each thing that cannot be had."""
    seconds: dict[str, float]
    """Wall time of `engine`, `image` or `rootfs`, `clis` and `all`."""

    def as_json(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return asdict(self, dict_factory=_plain)


def _plain(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: str(value) if isinstance(value, Path) else value for key, value in items}


@dataclass(frozen=True)
class Steps:
    """The parts of set-up; the defaults are the real ones."""

    image: Callable[..., Awaitable[ImageFacts]] = ensure_image
    rootfs: Callable[..., Awaitable[RootfsFacts]] = ensure_rootfs
    clis: Callable[[Path, Say], Awaitable[AgentPaths]] = ensure_clis


_REAL = Steps()
_T = TypeVar("_T")


async def set_up(
    say: Say, *, home: Path | None = None, machine: Machine | None = None, steps: Steps = _REAL
) -> SetupReport:
    """Bring engine, image and CLIs; `say` takes each line of progress.

    Raises `SetupError` only where nothing can be kept: the home folder cannot be made.
    """
    home = home or honed_home()
    try:
        await asyncio.to_thread(home.mkdir, parents=True, exist_ok=True)
    except OSError as error:
        msg = f"{home} cannot be made ({error.strerror}): set HONED_HOME to a folder that can be written"
        raise SetupError(msg) from error
    work = _Work(say, home, machine or ThisMachine(home), steps)
    (engine, image, rootfs), agents = await work.timed("all", work.everything())
    return SetupReport(home, engine, image, rootfs, agents, tuple(work.problems), work.seconds)


_Boxes = tuple[EngineReport, ImageFacts | None, RootfsFacts | None]


@dataclass(frozen=True)
class _Work:
    """One set-up under way."""

    say: Say
    home: Path
    machine: Machine
    steps: Steps
    problems: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    async def everything(self) -> tuple[_Boxes, AgentPaths | None]:
        """The engine's part and the CLIs' side by side: both mostly wait for downloads and disks."""
        return await asyncio.gather(self.boxes(), self.timed("clis", self.clis()))

    async def boxes(self) -> _Boxes:
        engine = await self.timed("engine", ensure_engine(self.machine, self.say))
        image = rootfs = None
        if engine.address is not None:
            try:
                image = await self.timed("image", self.image(engine.address))
            except ImageError as error:
                self.say(f"Docker is not used: {error}")
                engine = await fall_back(self.machine, self.say, str(error))
        if engine.engine == "bubblewrap":
            rootfs = await self.timed("rootfs", self.rootfs())
        if engine.why_not_docker:
            self.problems.append(engine.why_not_docker)
        return engine, image, rootfs

    async def image(self, address: str) -> ImageFacts:
        return await self.steps.image(address, home=self.home, say=self.say, may_install=install_allowed())

    async def rootfs(self) -> RootfsFacts | None:
        try:
            return await self.steps.rootfs(self.home, self.say, may_install=install_allowed())
        except ImageError as error:
            self.say(f"bubblewrap will show agents this machine's own system folders, read-only: {error}")
            return None

    async def clis(self) -> AgentPaths | None:
        try:
            return await self.steps.clis(self.home, self.say)
        except SetupError as error:
            self.say(f"NO CODEX AND NO CLAUDE CODE: {error}")
            self.say("  only the chat harness works without them")
            self.problems.append(str(error))
            return None

    async def timed(self, name: str, work: Awaitable[_T]) -> _T:
        start = time.monotonic()
        try:
            return await work
        finally:
            self.seconds[name] = round(time.monotonic() - start, 3)


def summary(report: SetupReport) -> tuple[str, ...]:
    """The report as lines for people."""
    engine = report.engine
    lines = [f"engine  {engine.engine} {engine.version} ({engine.how})".rstrip()]
    if report.image is not None:
        lines.append(f"image   {report.image.tag} {report.image.digest[:19]} ({report.image.how})")
    if report.rootfs is not None:
        lines.append(f"rootfs  {report.rootfs.path} {report.rootfs.digest[:19]}")
    versions = report.agents.versions if report.agents else {}
    lines.append("agents  " + (", ".join(f"{name} {version}" for name, version in versions.items()) or "none"))
    lines.append("time    " + ", ".join(f"{name} {value:.1f} s" for name, value in report.seconds.items()))
    return tuple(lines)
