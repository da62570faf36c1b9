"""Find an engine to run boxes with, or bring one: Docker, else bubblewrap, else plain processes.

Each step down is said aloud with what it lacks. `HONED_INSTALL_ENGINE=0` declines installing and starting; an engine
that runs already is used all the same.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from daemon.setup.docker_ping import Pong, engine_address
from daemon.setup.machine import Machine
from sandboxes.image.command import Say

_LACKS = {
    "bubblewrap": (
        "no filter of system calls",
        "limits of memory, processes and processors only as far as this machine allows them: `honed doctor` tells",
    ),
    "process": (
        "no isolation at all: agents see this machine's files and network",
        "it never runs with a real key unless allow_unsandboxed = true in [sandbox]",
    ),
}


@dataclass(frozen=True)
class EngineReport:
    """What boxes will run with."""

    engine: Literal["docker", "bubblewrap", "process"]
    address: str | None
    """Docker's; None for the others."""
    version: str
    how: Literal["running", "started", "installed", "fallback"]
    lacks: tuple[str, ...] = ()
    """Of a fallback; what a Docker engine lacks, its own facts tell (`DockerSandbox.facts`)."""
    why_not_docker: str = ""
    """One line with the remedy where Docker is not used."""


class _NoDockerError(Exception):
    """Docker cannot be brought; `str()` is one line with the remedy."""


def install_allowed() -> bool:
    """False where `HONED_INSTALL_ENGINE=0` declines."""
    return os.environ.get("HONED_INSTALL_ENGINE", "1") != "0"


async def ensure_engine(machine: Machine, say: Say) -> EngineReport:
    """Find or bring an engine; never raises for a missing one, since plain processes are always there."""
    found = await find_docker(machine)
    if isinstance(found, EngineReport):
        return found
    say(found)
    try:
        return await _bring_docker(machine, say)
    except _NoDockerError as error:
        say(f"Docker is not used: {error}")
        return await fall_back(machine, say, str(error))


async def find_docker(machine: Machine) -> EngineReport | str:
    """The engine that runs, or one line why there is none; changes nothing."""
    where = engine_address()
    answer = await machine.ping(where)
    if isinstance(answer, str):
        return f"no Docker engine at {where}: {answer}"
    return EngineReport("docker", where, answer.version, "running")


async def _bring_docker(machine: Machine, say: Say) -> EngineReport:
    if (refusal := _refusal(machine)) is not None:
        raise _NoDockerError(refusal)
    how: Literal["started", "installed"] = "started"
    if not machine.has("dockerd"):
        how = "installed"
        say("no Docker engine on this machine: installing docker.io (HONED_INSTALL_ENGINE=0 declines it)")
        if error := await machine.install(["docker.io"], say):
            raise _NoDockerError(error)
    answer = await machine.ping(machine.docker_address)
    if isinstance(answer, str):
        if error := await machine.start_docker(say):
            msg = f"dockerd could not be started: {error}"
            raise _NoDockerError(msg)
        answer = await machine.ping(machine.docker_address)
    if not isinstance(answer, Pong):
        msg = f"dockerd was started but does not answer: {answer}"
        raise _NoDockerError(msg)
    say(f"Docker engine {answer.version} runs")
    return EngineReport("docker", machine.docker_address, answer.version, how)


def _refusal(machine: Machine) -> str | None:
    """Why nothing may be installed or started here, or None."""
    if not install_allowed():
        return "HONED_INSTALL_ENGINE=0 declines installing and starting an engine"
    if os.environ.get("DOCKER_HOST"):
        return "DOCKER_HOST names an engine that does not answer: start that engine, or unset the variable"
    if not machine.is_root:
        return "only root may install or start it: run `honed setup` once as root"
    if not machine.has("dockerd") and not machine.can_install:
        return "this is neither Debian nor Ubuntu: install Docker yourself"
    return None


async def fall_back(machine: Machine, say: Say, why: str) -> EngineReport:
    """Bubblewrap, else plain processes, saying what they lack; `why` Docker is not used goes into the report."""
    needed = {"bwrap": "bubblewrap", "socat": "socat"}
    missing = [package for program, package in needed.items() if not machine.has(program)]
    if missing and install_allowed() and machine.can_install and (error := await machine.install(missing, say)):
        say(error)
    problem = await machine.probe_bubblewrap()
    if problem is not None:
        say(f"bubblewrap is not used: {problem}")
    engine: Literal["bubblewrap", "process"] = "process" if problem else "bubblewrap"
    say(f"FALLING BACK to the {engine} engine. What it lacks:")
    for line in _LACKS[engine]:
        say(f"  {line}")
    return EngineReport(engine, None, "", "fallback", _LACKS[engine], why)
