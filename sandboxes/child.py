"""A host process whose output is copied into capped files: what the bubblewrap and process engines start.

The process is started in the loop's own thread, because `--die-with-parent` looks at the thread that forked.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from sandboxes.guard import in_own_thread
from sandboxes.sandbox import SandboxError
from sandboxes.streams import Streams

_CHUNK = 262_144
_DRAIN_S = 2.0


class Child:
    """Started on construction; raises `SandboxError` if that fails. `end` gives the return code as `Popen` does."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        streams: Streams,
        pass_fds: tuple[int, ...] = (),
    ) -> None:
        try:
            self._process = subprocess.Popen(
                argv,
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except (OSError, ValueError) as error:
            streams.close()
            message = f"cannot start {argv[0]!a}: {error}"
            raise SandboxError(message) from error
        self._streams = streams
        self._pumps = [
            Pump(stream, into.write)
            for stream, into in ((self._process.stdout, streams.stdout), (self._process.stderr, streams.stderr))
            if stream is not None
        ]
        self.end: asyncio.Future[int] = in_own_thread(self._process.wait)

    @property
    def pid(self) -> int:
        """Process id on the host; also that of its group and session."""
        return self._process.pid

    @property
    def trouble(self) -> str:
        """Once it was settled: one line why its end or its output is not known, or nothing."""
        if not self.end.done():
            return "the killed process does not go away: is the host's disk stuck?"
        return next((pump.problem for pump in self._pumps if pump.problem), "")

    def kill(self) -> None:
        """SIGKILL to the whole process group; nothing if it is gone."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def also(self, pump: Pump) -> None:
        """Drain and close this pump with the others."""
        self._pumps.append(pump)

    async def drain(self) -> None:
        """Read what is left of the output (two seconds at most, in case somebody still holds it) and close."""
        await asyncio.wait([pump.done for pump in self._pumps], timeout=_DRAIN_S)
        for pump in self._pumps:
            pump.close()
        self._streams.close()


class Pump:
    """Hands a pipe's data to `sink` as it comes, up to the first that the sink refuses; owns the pipe."""

    def __init__(self, source: IO[bytes], sink: Callable[[bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._sink = sink
        self.problem = ""
        """Why the sink took no more."""
        self.done: asyncio.Future[None] = self._loop.create_future()
        os.set_blocking(source.fileno(), False)
        self._loop.add_reader(source.fileno(), self._read)

    def read_now(self) -> None:
        """Take what the pipe holds, without waiting for the loop."""
        if not self._source.closed:
            self._read()

    def _read(self) -> None:
        try:
            data = os.read(self._source.fileno(), _CHUNK)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        try:
            self._sink(data)
        except OSError as error:
            self.problem = f"the command's output cannot be kept: {error.strerror or error}"
            self.close()

    def close(self) -> None:
        """Read no more. Safe to call twice."""
        if not self._source.closed:
            self._loop.remove_reader(self._source.fileno())
            self._source.close()
        if not self.done.done():
            self.done.set_result(None)
