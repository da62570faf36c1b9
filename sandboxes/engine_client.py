"""The Docker engine's client: an explicit address, never the command line's current context; errors with a remedy."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import docker
from docker.errors import APIError, DockerException, NotFound
from docker.transport.unixconn import UnixHTTPConnection
from urllib3.exceptions import HTTPError

from sandboxes.engine_socket import engine_address, refusal
from sandboxes.sandbox import SandboxError

TIMEOUT_S = 60.0
"""Of one request to the engine. Bounds no command: that is the deadline's work."""
ANSWER_S = 10.0
"""How long an engine may take to say that it is there."""
_ANY_VERSION = "1.41"
ENGINE_ERRORS = (DockerException, HTTPError, OSError)
"""Whatever the SDK lets through when the engine refuses, breaks off or is gone."""


def _connect(self: UnixHTTPConnection) -> None:
    """As the SDK does it, but a socket that is refused is closed: an engine may be gone at any moment."""
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.settimeout(self.timeout)
        found.connect(self.unix_socket)
    except BaseException:
        found.close()
        raise
    self.sock = found


UnixHTTPConnection.connect = _connect  # type: ignore[method-assign] # the SDK offers no seam for it


def address(base_url: str | None = None) -> str:
    """The engine's address: as given, else `DOCKER_HOST`, else the local socket."""
    return base_url or engine_address()


@contextmanager
def connected(base_url: str) -> Iterator[docker.DockerClient]:
    """A client that leaves no descriptor open; raises `SandboxError` if the engine does not answer. Blocking."""
    client = connect(base_url)
    try:
        yield client
    finally:
        client.close()


def connect(base_url: str) -> docker.DockerClient:
    """A new client, to be closed. Blocking."""
    if (why := refusal(base_url)) is not None:
        message = f"no Docker engine answers at {base_url}: {why}; start it, or set DOCKER_HOST"
        raise SandboxError(message)
    try:
        version = _api_version(base_url)
        return docker.DockerClient(base_url=base_url, version=version, timeout=int(TIMEOUT_S), max_pool_size=16)
    except ENGINE_ERRORS as error:
        message = f"no Docker engine answers at {base_url}: start it, or set DOCKER_HOST ({_short(error)})"
        raise SandboxError(message) from error


def _api_version(base_url: str) -> str:
    """What the engine speaks. Asked by a client of its own, since one that fails while it is made leaves its socket."""
    client = docker.DockerClient(base_url=base_url, version=_ANY_VERSION, timeout=int(ANSWER_S))
    try:
        # Unlike `version`, answered at once: the engine starts no program to find out.
        answer = client.api.get(f"{client.api.base_url}/_ping", timeout=ANSWER_S)
        answer.raise_for_status()
        return str(answer.headers.get("Api-Version") or _ANY_VERSION)
    finally:
        client.close()


def explain(error: BaseException) -> str:
    """One line for people about an engine's error."""
    if isinstance(error, APIError):
        return f"the Docker engine refused: {_short(error.explanation or error)}"
    return f"the Docker engine failed: {_short(error)}"


def image_id(client: docker.DockerClient, image: str) -> str:
    """`sha256:…` of the image; raises `SandboxError` if it is not there. Blocking."""
    try:
        found = cast("dict[str, Any]", client.api.inspect_image(image))  # type: ignore[no-untyped-call]
        return str(found["Id"])
    except NotFound as error:
        message = f"the sandbox image {image} is not there: run `honed setup`"
        raise SandboxError(message) from error
    except ENGINE_ERRORS as error:
        raise SandboxError(explain(error)) from error


def _short(error: object) -> str:
    return " ".join(str(error).split())[:300]
