"""Serve 127.0.0.1:PORT and pass every connection on to a unix socket.

Runs as a script inside a box that has no socat (`python3 -I forward.py PORT SOCKET`), so it needs nothing but the
standard library; the process engine runs it as a function on the host.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

_CHUNK = 65_536


async def serve(socket: str, port: int = 0) -> asyncio.Server:
    """A listening server on loopback; port 0 takes a free one (see `port_of`)."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_unix_connection(socket)
        except OSError:
            writer.transport.abort()
            return
        pipes = (asyncio.create_task(_copy(reader, up_writer)), asyncio.create_task(_copy(up_reader, writer)))
        try:
            await asyncio.wait(pipes)
        finally:
            for pipe in pipes:
                pipe.cancel()
            for end in (writer, up_writer):
                end.transport.abort()

    return await asyncio.start_server(handle, "127.0.0.1", port)


def port_of(server: asyncio.Server) -> int:
    """The port it listens on."""
    port: int = server.sockets[0].getsockname()[1]
    return port


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy to the end of `reader`, then half-close `writer`."""
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _main(port: int, socket: str) -> None:
    server = await serve(socket, port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]), sys.argv[2]))
