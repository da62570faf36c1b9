"""Run a program to its end, or end it with all that it started.

Invariant: in a session of its own, so that there is no terminal to ask on and no Ctrl-C tears it up half-way; whatever
breaks the waiting off ends the whole group first. Blocking: call it from a thread.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path


def run_to_end(
    argv: Sequence[str], folder: Path, env: Mapping[str, str], *, stdin: bytes = b"", timeout_s: float
) -> tuple[int, bytes, bytes]:
    """Exit code, output and errors; raises `OSError` and `subprocess.TimeoutExpired` as they come."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
    ) as process:
        try:
            out, err = process.communicate(stdin, timeout=timeout_s)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, out, err
