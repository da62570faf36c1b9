"""Run a program to its end, or end it with all that it started.

Invariant: in a session of its own, so that there is no terminal to ask on and no Ctrl-C tears it up half-way; whatever
breaks the waiting off ends the whole group first. `run_to_end` blocks: call it from a thread.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile


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


async def run_awaited(
    argv: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    *,
    stdin: bytes = b"",
    timeout_s: float,
    keep: int = 2_000,
) -> tuple[int, bytes]:
    """Likewise without a thread: exit code and the last `keep` bytes of its errors; its output is dropped.

    What it leaves running in the background, when it ends by itself, is its own and cannot hold this up. Raises
    `OSError`, and `TimeoutError` once it is ended.
    """
    with TemporaryFile() as given, TemporaryFile() as errors:
        given.write(stdin)
        given.seek(0)
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=folder, env=env, stdin=given, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        )
        try:
            code = await asyncio.wait_for(process.wait(), timeout_s)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            raise
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - keep))
        return code, errors.read()
