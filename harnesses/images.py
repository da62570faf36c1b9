"""Images among a task's files: what they are, by their first bytes, and which of them a model is shown at once.

A chat model can look at nothing by itself, so it is shown every image. An agent has its own ways to open files: it is
shown those that the prompt names.
"""

from __future__ import annotations

from collections.abc import Mapping

from harnesses.models.client import Image

MOST = 20
"""Images of one request: providers refuse more, or make them small."""
_MAGIC = ((b"\x89PNG\r\n\x1a\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def image_type(data: bytes) -> str | None:
    """The media type of an image that providers take; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if data.startswith(magic)), None)


def images_of(files: Mapping[str, bytes]) -> dict[str, Image]:
    """The first `MOST` images by path."""
    kinds = ((path, image_type(files[path])) for path in sorted(files))
    found = [(path, Image(kind, files[path])) for path, kind in kinds if kind is not None]
    return dict(found[:MOST])


def named_images(files: Mapping[str, bytes], prompt: str) -> tuple[str, ...]:
    """Paths of the images that the prompt names, apart from those that a list with commas cannot hold."""
    return tuple(path for path in images_of(files) if path in prompt and "," not in path)
