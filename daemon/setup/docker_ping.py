"""Ask a Docker engine who it is, with a short time limit; a refusal becomes one line that says what to mend."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import docker
from docker.errors import DockerException
from requests.exceptions import RequestException

from sandboxes.engine_client import address as address_of

_TIMEOUT_S = 5


@dataclass(frozen=True)
class Pong:
    """A Docker engine's answer."""

    version: str


def engine_address() -> str:
    """`$DOCKER_HOST`, else Docker's usual socket."""
    return address_of()


async def ping(address: str) -> Pong | str:
    """The engine's answer, or one line why there is none."""
    return await asyncio.to_thread(_ping, address)


def _ping(address: str) -> Pong | str:
    try:
        client = docker.APIClient(base_url=address, version="auto", timeout=_TIMEOUT_S)
    except (DockerException, RequestException, OSError, ValueError) as error:
        return reason(error)
    try:
        told = client.version()
    except (DockerException, RequestException, OSError) as error:
        return reason(error)
    finally:
        client.close()
    return Pong(str(told["Version"]))


def reason(error: Exception) -> str:
    """One line for people out of the SDK's nested errors."""
    text = " ".join(str(error).split())
    if "Permission denied" in text or "PermissionError" in text:
        return "its socket is closed to this user (add the user to the group docker, or run as root)"
    if "FileNotFoundError" in text or "No such file" in text:
        return "there is no such socket"
    if "ConnectionRefused" in text or "Connection refused" in text:
        return "nobody listens there"
    return text[:200]
