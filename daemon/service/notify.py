"""Tells systemd how the daemon is (`sd_notify(3)`): ready, reloading, stopping, alive. Without systemd: nothing.

Invariant: never raises and never blocks; what the supervisor does not hear costs the daemon nothing.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

log = structlog.get_logger(__name__)

_LONGEST_S = 1e9
"""What a supervisor is asked for at most."""


@dataclass(frozen=True)
class Supervisor:
    """Who started the daemon, if it wants to be told."""

    address: str = ""
    """Path of a datagram socket, or `@name` of an abstract one; empty: nobody listens."""
    watchdog_s: float | None = None
    """It ends a daemon that says nothing for so long."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Supervisor:
        """From `NOTIFY_SOCKET` and `WATCHDOG_USEC`; the latter only if it is meant for this process."""
        address = environment.get("NOTIFY_SOCKET", "")
        micro = environment.get("WATCHDOG_USEC", "")
        ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        seconds = int(micro) / 1e6 if micro.isdigit() and int(micro) and ours else None
        return cls(address if address[:1] in ("/", "@") else "", seconds)

    def tell(self, *lines: str) -> None:
        """Send one datagram of `KEY=value` lines."""
        if not self.address:
            return
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        data = "\n".join(" ".join(line.split("\n")) for line in lines).encode()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
                to.setblocking(False)
                to.sendto(data, address)
        except OSError as error:
            log.debug("supervisor not told", error=str(error))

    def ready(self, status: str) -> None:
        """It works from now on, or works again after reloading."""
        self.tell("READY=1", f"STATUS={status}")

    def reloading(self) -> None:
        """It reads its configuration again; `ready` follows."""
        self.tell("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def stopping(self, status: str, grace_s: float) -> None:
        """It ends; the supervisor shall wait at least so long."""
        self.tell("STOPPING=1", f"STATUS={status}", f"EXTEND_TIMEOUT_USEC={int((min(grace_s, _LONGEST_S) + 30) * 1e6)}")

    def alive(self) -> None:
        """It turns."""
        self.tell("WATCHDOG=1")
