"""Ask a Docker engine who it is, with a short time limit; a refusal becomes one line that says what to mend."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from sandboxes import engine_socket
from sandboxes.engine_socket import refusal

_TIMEOUT_S = 5


@dataclass(frozen=True)
class Pong:
    """A Docker engine's answer."""

    version: str


def engine_address() -> str:
    """`$DOCKER_HOST`, else Docker's usual socket."""
    return engine_socket.engine_address()


async def ping(address: str) -> Pong | str:
    """The engine's answer, or one line why there is none."""
    return await asyncio.to_thread(_ping, address)


def _ping(address: str) -> Pong | str:
    if (why := refusal(address)) is not None:
        return why
    import docker  # noqa: PLC0415 - large, and whoever only wants the address needs none of it
    from docker.errors import DockerException  # noqa: PLC0415
    from requests.exceptions import RequestException  # noqa: PLC0415

    import sandboxes.engine_client  # noqa: F401, PLC0415 - makes the library close a socket that is refused

    try:
        client = docker.APIClient(base_url=address, version="auto", timeout=_TIMEOUT_S)
    except (DockerException, RequestException, OSError, ValueError) as error:
        return _reason(error)
    try:
        told = client.version()
    except (DockerException, RequestException, OSError) as error:
        return _reason(error)
    finally:
        client.close()
    return Pong(str(told["Version"]))


def _reason(error: Exception) -> str:
    """One line for people out of the SDK's nested errors."""
    return " ".join(str(error).split())[:200]
