"""How an agent in a sandbox acts in an episode that lives outside it: a command, `act`, over a unix socket.

The folder with both is shown read-only in the box and stands first in its PATH. Invariants: what comes through the
socket is one command and nothing else, so that an agent can neither reset the episode nor say that it was won; a world
that fails is remembered, and makes the attempt invalid.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from harnesses.episode import Episode, EpisodeError, EpisodeOpener, EpisodeStatus
from harnesses.traces.text import encodable, shorten
from sandboxes.gateway.listener import make_folder
from sandboxes.sandbox import Mount

TARGET = "/opt/episode"
"""Where the folder is shown."""
COMMAND_BYTES = 4096
READ_S = 10.0
"""Until a connection has said its command."""
CONNECTIONS = 8
TEXT_CHARS = 20_000
HOW = """\
Act by running `act COMMAND` in the shell, for example `act {example}`: it prints what happens. The game goes on from
one call to the next, and cannot be started again. Give one command at a time, until you are told that it is over.
"""
_SOCKET = "e.sock"
_SCRIPT = """\
#!/bin/sh
# act COMMAND: give one command to the game and print what happens.
socket=${0%/*}/e.sock
if command -v socat >/dev/null 2>&1; then
  printf '%s' "$*" | socat -t 300 - "UNIX-CONNECT:$socket"
elif command -v python3 >/dev/null 2>&1; then
  exec python3 -I -c '
import socket, sys
with socket.socket(socket.AF_UNIX) as game:
    game.connect(sys.argv[1])
    game.sendall(sys.argv[2].encode("utf-8", "replace"))
    game.shutdown(socket.SHUT_WR)
    while data := game.recv(65536):
        sys.stdout.buffer.write(data)
' "$socket" "$*"
else
  echo "act: this image has neither socat nor python3" >&2
  exit 127
fi
"""


class EpisodeDoor:
    """An open episode with its command."""

    def __init__(self, episode: Episode, folder: Path) -> None:
        self._episode = episode
        self._folder = folder
        self._slots = asyncio.Semaphore(CONNECTIONS)
        self._tasks: set[asyncio.Task[None]] = set()
        self.failure = ""
        """What the world said when it failed; empty while it has not."""

    @property
    def mount(self) -> Mount:
        """What the box is shown."""
        return Mount(self._folder, TARGET)

    @property
    def status(self) -> EpisodeStatus:
        """How the episode stands."""
        return self._episode.status

    def asked(self, prompt: str) -> str:
        """The prompt with the episode's opening, and how to act in it."""
        return f"{prompt}\n\n{HOW.format(example='look')}\n{encodable(self._episode.opening)}\n"

    def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End what still runs."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with self._slots:
                told = await self._answer(reader)
                writer.write(f"{told}\n".encode("utf-8", "replace"))
                await writer.drain()
        except OSError:
            structlog.get_logger().debug("the agent hung up on its game")
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> str:
        try:
            async with asyncio.timeout(READ_S):
                said = await _read(reader)
        except TimeoutError:
            return "No command came: nothing was done."
        if len(said) > COMMAND_BYTES:
            return "The command is too long: nothing was done."
        try:
            result = await self._episode.act(said.decode("utf-8", "replace"))
        except EpisodeError as error:
            self.failure = self.failure or str(error)
            return "The game has failed."
        return shorten(encodable(result.text), TEXT_CHARS)


async def _read(reader: asyncio.StreamReader) -> bytes:
    """All that is said, but not much more than a command."""
    said = b""
    while len(said) <= COMMAND_BYTES and (data := await reader.read(COMMAND_BYTES)):
        said += data
    return said


@asynccontextmanager
async def episode_door(opener: EpisodeOpener | None) -> AsyncIterator[EpisodeDoor | None]:
    """A fresh episode behind its command; None where there is none. Entering raises `EpisodeError`."""
    if opener is None:
        yield None
        return
    folder = await asyncio.to_thread(_made)
    try:
        async with opener() as episode:
            door = EpisodeDoor(episode, folder)
            server = await asyncio.start_unix_server(door.handle, str(folder / _SOCKET))
            try:
                await asyncio.to_thread((folder / _SOCKET).chmod, 0o666)  # the box's user is another one
                yield door
            finally:
                server.close()
                await door.close()
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _made() -> Path:
    """The folder with the script; the socket comes later. Its path is short, as a socket's must be."""
    try:
        folder = make_folder(Path(tempfile.gettempdir()))
        script = folder / "act"
        script.write_text(_SCRIPT, encoding="utf-8")
        script.chmod(0o555)
    except OSError as error:
        raise EpisodeError(f"the game's command cannot be laid out: {error.strerror or error}") from error
    return folder
