"""Where the Docker engine is, and whether anybody listens there, before a client library tries and hides why not.

The docker SDK leaves its own socket open when a connection is refused, and buries the reason in nested exceptions.
"""

from __future__ import annotations

import errno
import os
import socket

DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
_TIMEOUT_S = 5.0
_WORDS = {
    errno.ENOENT: "there is no such socket",
    errno.ECONNREFUSED: "nobody listens there",
    errno.EACCES: "its socket is closed to this user (add the user to the group docker, or run as root)",
}


def engine_address() -> str:
    """`$DOCKER_HOST`, else Docker's usual socket."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_ADDRESS


def refusal(address: str) -> str | None:
    """Why the engine at `unix://…` takes no connection, or None; other kinds of address are not asked. Blocking."""
    if not address.startswith("unix://"):
        return None
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(_TIMEOUT_S)
        try:
            probe.connect(address.removeprefix("unix://"))
        except OSError as error:
            return _WORDS.get(error.errno or 0) or f"its socket cannot be used ({error.strerror or error})"
    return None
