"""Reading streams whose other side may be gone."""

from __future__ import annotations

import asyncio


async def to_the_end(reader: asyncio.StreamReader) -> bytes:
    """All that came before the other side closed.

    A side that closes before it has read what was sent to it resets the connection: that is an end as well.
    """
    data = b""
    try:
        while block := await reader.read(65536):
            data += block
    except ConnectionResetError:
        pass
    return data
