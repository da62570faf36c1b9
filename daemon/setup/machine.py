"""What set-up asks of a machine and does to it, as one seam: the real one, and a fake for tests."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from daemon.setup import dockerd
from daemon.setup.docker_ping import Pong, ping
from sandboxes.image import apt
from sandboxes.image.command import Say, find_program, run_command

_PROBE = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--die-with-parent")


class Machine(Protocol):
    """A host. The asynchronous methods give None for success, else one line that says what failed."""

    @property
    def is_root(self) -> bool:
        """May install and start engines."""

    @property
    def can_install(self) -> bool:
        """Root on a system with apt-get."""

    @property
    def docker_address(self) -> str:
        """Where an engine that `start_docker` started answers."""

    def has(self, program: str) -> bool:
        """True if `program` is on the search path."""

    async def ping(self, address: str) -> Pong | str:
        """A Docker engine's answer, or why there is none."""

    async def install(self, packages: Sequence[str], say: Say) -> str | None:
        """Install Debian packages."""

    async def start_docker(self, say: Say) -> str | None:
        """Start Docker's engine and wait until it answers."""

    async def probe_bubblewrap(self) -> str | None:
        """Try to make a namespace."""


@dataclass(frozen=True)
class ThisMachine:
    """The host honed runs on."""

    home: Path
    wait_s: float = 60.0
    places: dockerd.DockerdPlaces | None = None

    @property
    def _places(self) -> dockerd.DockerdPlaces:
        return self.places or dockerd.DockerdPlaces(log=self.home / "log" / "dockerd.log")

    @property
    def is_root(self) -> bool:
        """Effective user 0."""
        return os.geteuid() == 0

    @property
    def can_install(self) -> bool:
        """Root on Debian, Ubuntu or a relative."""
        return apt.can_install()

    @property
    def docker_address(self) -> str:
        """The usual socket."""
        return self._places.address

    def has(self, program: str) -> bool:
        """Also looks where root's programs are."""
        return find_program(program) is not None

    async def ping(self, address: str) -> Pong | str:
        """Through the docker SDK."""
        return await ping(address)

    async def install(self, packages: Sequence[str], say: Say) -> str | None:
        """With apt-get."""
        finished = await apt.install(packages, say)
        return f"apt-get failed: {finished.last_line}" if finished.code else None

    async def start_docker(self, say: Say) -> str | None:
        """With systemctl where systemd runs, else dockerd on its own."""
        places = self._places
        try:
            coming = await asyncio.to_thread(dockerd.running_pid, places.pid_file, "dockerd")
            answers = await self._answers(await dockerd.start(places, say))
            if not answers and coming is not None and dockerd.process_name(coming) is None:
                say("the dockerd that was coming up has ended")
                answers = await self._answers(await dockerd.start(places, say))
        except dockerd.StartError as error:
            return str(error)
        return None if answers else f"it did not answer; {places.log}: {await self._log_end()}"

    async def _answers(self, pid: int | None) -> bool:
        """Wait until the engine answers; False once its process is gone or the time is up."""
        end = time.monotonic() + self.wait_s
        while isinstance(await self.ping(self.docker_address), str):
            gone = pid is not None and await asyncio.to_thread(dockerd.process_name, pid) is None
            if gone or time.monotonic() > end:
                return False
            await asyncio.sleep(0.1)
        return True

    async def _log_end(self) -> str:
        return await asyncio.to_thread(dockerd.log_end, self._places)

    async def probe_bubblewrap(self) -> str | None:
        """The namespaces that the bubblewrap engine uses."""
        finished = await run_command([*_PROBE, "true"], timeout_s=10)
        return finished.last_line if finished.code else None


@dataclass
class FakeMachine:
    """A machine as a script: what it has, what works, and what was done to it."""

    is_root: bool = True
    can_install: bool = True
    docker_address: str = "unix:///fake/docker.sock"
    programs: set[str] = field(default_factory=set)
    engines: dict[str, Pong] = field(default_factory=dict)
    """Engines that run, by address."""
    install_error: str | None = None
    start_error: str | None = None
    bubblewrap_error: str | None = None
    gives: Mapping[str, str] = field(
        default_factory=lambda: {"docker.io": "dockerd", "bubblewrap": "bwrap", "socat": "socat"}
    )
    done: list[str] = field(default_factory=list)

    def has(self, program: str) -> bool:
        """As scripted, or brought by `install`."""
        return program in self.programs

    async def ping(self, address: str) -> Pong | str:
        """An engine of `engines`."""
        return self.engines.get(address, "there is no such socket")

    async def install(self, packages: Sequence[str], say: Say) -> str | None:
        """Brings the packages' programs."""
        self.done.append(f"install {' '.join(packages)}")
        if self.install_error is None:
            self.programs |= {self.gives[package] for package in packages if package in self.gives}
        return self.install_error

    async def start_docker(self, say: Say) -> str | None:
        """The engine answers from now on."""
        self.done.append("start docker")
        if self.start_error is None:
            self.engines[self.docker_address] = Pong("1.2.3")
        return self.start_error

    async def probe_bubblewrap(self) -> str | None:
        """As scripted; without the program it cannot work."""
        return self.bubblewrap_error if self.has("bwrap") else "bwrap: not found"
