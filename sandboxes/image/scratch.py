"""Set-up work that can be killed at any moment: one at a time, and nothing half-made under a final name."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import AsyncFileLock

from sandboxes.image.command import Say

_TEMPORARY = ".tmp-"


@asynccontextmanager
async def set_up_lock(home: Path, name: str, say: Say) -> AsyncIterator[None]:
    """One set-up of `name` at a time on this home; says so when it has to wait."""
    folder = home / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = AsyncFileLock(folder / f"{name}.lock")
    try:
        await lock.acquire(timeout=0)
    except TimeoutError:
        say(f"another set-up is at work on {name}: waiting for it")
        await lock.acquire(poll_interval=0.2)
    try:
        yield
    finally:
        await lock.release()


@asynccontextmanager
async def temporary_folder(parent: Path) -> AsyncIterator[Path]:
    """A folder beside the final place, so that a rename completes it; call it under the lock.

    What killed set-ups left is removed first, this one's on leaving.
    """
    folder = await asyncio.to_thread(_fresh_folder, parent)
    try:
        yield folder
    finally:
        await asyncio.to_thread(_remove, folder)


def _fresh_folder(parent: Path) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(f"{_TEMPORARY}*"):
        _remove(left)
    return Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=parent))


def _remove(folder: Path) -> None:
    """As far as it goes: a temporary folder that cannot be removed now is in nobody's way and tried again later."""
    shutil.rmtree(folder, ignore_errors=True)
