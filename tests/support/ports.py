"""Ports on loopback that nobody takes by chance between their choice and their use, or that refuse whoever calls."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

LOWEST, MANY = 10_000, 20_000
"""Below those that the kernel gives to whoever asks for any: each process looks from a place of its own."""
_next = count()


def free_port() -> int:
    """A port that is free, and stays so until somebody asks for this very one."""
    while True:
        port = LOWEST + (os.getpid() * 101 + next(_next)) % MANY
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


@contextmanager
def refusing_port() -> Iterator[int]:
    """A port on which nobody listens, nor can begin to, as long as this is open."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
