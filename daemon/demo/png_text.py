"""What a PNG says of itself: the simulated model's eyes. It reads the transcript out of the bytes it was sent."""

from __future__ import annotations

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEY = b"Transcript\0"


def transcript(png: bytes) -> str:
    """The text chunk `Transcript`; empty if there is none, or these are no PNG."""
    at = len(_SIGNATURE)
    if not png.startswith(_SIGNATURE):
        return ""
    while at + 12 <= len(png):
        size, kind = int.from_bytes(png[at : at + 4], "big"), png[at + 4 : at + 8]
        data = png[at + 8 : at + 8 + size]
        if kind == b"tEXt" and data.startswith(_KEY):
            return data.removeprefix(_KEY).decode("latin-1")
        at += 12 + size
    return ""
