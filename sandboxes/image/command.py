"""Run a command on the host for set-up: output line by line, a deadline, and no process left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Say = Callable[[str], None]
"""Takes one line of progress for people."""

_SECRET = re.compile(r"(?i)(key|token|secret|passw|credential)")
_TAIL_LINES = 400
_DRAIN_S = 1.0


def _inherited() -> dict[str, str]:
    """The environment without what is named a secret: building and installing need no model's key."""
    return {name: value for name, value in os.environ.items() if not _SECRET.search(name)}


def search_path() -> str:
    """`PATH` and where root's programs are, which even root's own path may lack."""
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def find_program(name: str) -> str | None:
    """The absolute path of a program of the host, or None."""
    return shutil.which(name, path=search_path())


@dataclass(frozen=True)
class Finished:
    """How a host command ended. `code` is 127 where the program does not exist, 124 where its time was up."""

    code: int
    output: str
    """stdout and stderr together, the last lines of them."""

    @property
    def last_line(self) -> str:
        """The last line that is not blank, for an error message."""
        return next((line.strip() for line in reversed(self.output.splitlines()) if line.strip()), "no output")


async def run_command(
    argv: Sequence[str],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    on_line: Say | None = None,
) -> Finished:
    """Run `argv` with stdin closed and, if given, `env` added to ours; never raises for what the command does.

    The command gets its own session; on timeout or cancellation the whole session is killed.
    """
    read_end, write_end = os.pipe()
    async with _lines(read_end) as reader:
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                env={**_inherited(), "PATH": search_path(), **(env or {})},
                cwd=cwd,
                start_new_session=True,
            )
        except (FileNotFoundError, PermissionError) as error:
            return Finished(127, f"{argv[0]}: {error.strerror}")
        finally:
            os.close(write_end)
        return await _to_the_end(process, reader, timeout_s, on_line)


async def _to_the_end(
    process: asyncio.subprocess.Process, reader: asyncio.StreamReader, timeout_s: float, on_line: Say | None
) -> Finished:
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    reading = asyncio.create_task(_read(reader, tail, on_line))
    try:
        async with asyncio.timeout(timeout_s):
            code = await process.wait()
        # A daemon that the command started may hold the pipe for ever: the command's own output is there by now.
        await asyncio.wait({reading}, timeout=_DRAIN_S)
    except TimeoutError:
        tail.append(f"no end after {timeout_s:.0f} s")
        code = 124
    finally:
        reading.cancel()
        await _kill(process)
    return Finished(code, "\n".join(tail))


@contextlib.asynccontextmanager
async def _lines(read_end: int) -> AsyncIterator[asyncio.StreamReader]:
    """Our own pipe rather than the process object's, which could not be closed while somebody else holds it open."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_end, "rb", buffering=0)
    )
    try:
        yield reader
    finally:
        transport.close()


async def _read(reader: asyncio.StreamReader, tail: deque[str], on_line: Say | None) -> None:
    """Read to the end; lines end with a newline or, as progress bars do, a carriage return."""
    rest = ""
    while chunk := await reader.read(65536):
        *lines, rest = (rest + chunk.decode("utf-8", "replace")).replace("\r", "\n").split("\n")
        for line in lines:
            tail.append(line)
            if on_line is not None:
                on_line(line)
    if rest:
        tail.append(rest)


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
