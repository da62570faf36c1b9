"""`honed` as a forked process: what `subprocess.Popen` gives, without the second or two that its imports take.

One `fork_server` for each process of tests; it ends with it.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_ROOT = Path(__file__).parents[2]
_LOCK = threading.Lock()


class Forked:
    """One process that runs `honed` with these words (the first is the program's own path)."""

    def __init__(
        self, argv: Sequence[str | Path], *, cwd: Path, env: Mapping[str, str], stdout: IO[bytes], stderr: IO[bytes]
    ) -> None:
        self.returncode: int | None = None
        self._argv = [str(word) for word in argv]
        self._answer, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        packet = json.dumps({"argv": self._argv, "cwd": str(cwd), "env": dict(env)}).encode()
        with theirs, Path(os.devnull).open("rb") as nothing, _LOCK:
            given = [nothing.fileno(), stdout.fileno(), stderr.fileno(), theirs.fileno()]
            socket.send_fds(_server(), [packet], given)
        self.pid = self._told()

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, negative for a signal; `subprocess.TimeoutExpired` where it has not ended by then."""
        if self.returncode is None:
            self._answer.settimeout(timeout)
            try:
                self.returncode = self._told()
            except (TimeoutError, BlockingIOError):
                raise subprocess.TimeoutExpired(self._argv, timeout or 0) from None
            self._answer.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Nothing where it is known to have ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def _told(self) -> int:
        said = self._answer.recv(64)
        if not said:
            self._answer.close()
            raise RuntimeError("the fork server has ended")
        return int(said)


@functools.cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.support.fork_server", str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),))

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
