"""The attached output of a container: one HTTP answer without end, in frames that name stdout or stderr.

Read here rather than by the SDK's own `attach`, which leaves the descriptor open after closing (docker-py#2766).
"""

from __future__ import annotations

import struct
from typing import Any, Protocol

import docker
from docker.errors import DockerException

from sandboxes.streams import Streams

_HEADER = struct.Struct(">BxxxL")
_STDERR = 2
_CHUNK = 65_536


class _Body(Protocol):
    def read(self, amount: int, /) -> bytes: ...


class Attachment:
    """Attach before the start, so that nothing is missed; `idle_s` without a byte means that the engine is gone."""

    def __init__(self, client: docker.DockerClient, container: str, *, idle_s: float) -> None:
        api = client.api
        self._response: Any = api.post(
            f"{api.base_url}/v{api.api_version}/containers/{container}/attach",
            params={"stream": 1, "stdout": 1, "stderr": 1},
            stream=True,
            timeout=(60.0, idle_s),
        )
        if self._response.status_code != 200:
            reason = self._response.text[:200]
            self.close()
            message = f"cannot attach: {reason}"
            raise DockerException(message)

    def copy_to(self, streams: Streams) -> None:
        """Copy until the container's output ends. Raises what the connection raises."""
        copy_frames(self._response.raw, streams)

    def close(self) -> None:
        """Close the connection. Safe to call twice."""
        self._response.close()


def copy_frames(body: _Body, streams: Streams) -> None:
    """Split the frames of `body` into the two streams; a broken last frame is kept as far as it came."""
    while len(header := body.read(_HEADER.size)) == _HEADER.size:
        kind, left = _HEADER.unpack(header)
        target = streams.stderr if kind == _STDERR else streams.stdout
        while left > 0:
            data = body.read(min(left, _CHUNK))
            if not data:
                return
            target.write(data)
            left -= len(data)
