"""The pictures in a request body, in any of the three protocols, tool outputs among them."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator
from typing import Any


def images_in(plain: Any) -> Iterator[bytes]:
    """Every picture at any depth, in order; what is no base64 is none."""
    if isinstance(plain, dict):
        data = _encoded(plain)
        if data is not None:
            yield from _decoded(data)
        else:
            yield from images_in(list(plain.values()))
    elif isinstance(plain, list):
        for one in plain:
            yield from images_in(one)


def _encoded(block: dict[str, Any]) -> str | None:
    """The base64 text of an image block: Responses, Chat Completions, Messages."""
    kind = block.get("type")
    if kind == "input_image":
        return _of_address(block.get("image_url"))
    if kind == "image_url" and isinstance(block.get("image_url"), dict):
        return _of_address(block["image_url"].get("url"))
    if kind == "image" and isinstance(block.get("source"), dict):
        return str(block["source"].get("data", ""))
    return None


def _of_address(address: Any) -> str:
    return str(address).partition(";base64,")[2]


def _decoded(text: str) -> Iterator[bytes]:
    try:
        yield b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return
