"""Whether a daemon answers, for health checks: `python3 -I -m daemon.control.alive [honed.toml]` ends with 0 or 1.

Quick: it imports nothing beyond the control socket's client. An answer is a turn of the daemon's loop, so a daemon that
hangs is as dead as one that is not there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from daemon.control.address import SOCKET_NAME
from daemon.control.client import Client
from daemon.control.errors import ControlError

_LIMIT_S = 10.0
_STATE = ".honed"


def main(arguments: Sequence[str]) -> int:
    """Ask the daemon of a honed.toml (default: the one in the working directory); 0 if it answers."""
    file = Path(arguments[0] if arguments else "honed.toml")
    client = Client(file.absolute().parent / _STATE / SOCKET_NAME, timeout_s=_LIMIT_S)
    try:
        client.ask("GET", "/jobs?newest=1")
    except ControlError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("a daemon answers\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
