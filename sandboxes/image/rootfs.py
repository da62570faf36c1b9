"""The recipe's root file system on disk, for the bubblewrap engine.

Invariant: the folder exists under its final name only when it is complete and its digest is written.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

from sandboxes.image import recipe
from sandboxes.image.command import Say
from sandboxes.image.debootstrap import debootstrap
from sandboxes.image.scratch import set_up_lock, temporary_folder
from sandboxes.image.tree import write_tar


@dataclass(frozen=True)
class RootfsFacts:
    """A root file system on disk."""

    path: Path
    digest: str
    """`sha256:…` of the tar that `write_tar` makes of it."""


async def ensure_rootfs(home: Path, say: Say, *, may_install: bool = True) -> RootfsFacts:
    """The recipe's root file system under `home`, made if it is not there; raises `ImageError`."""
    parent = home / "rootfs"
    final = parent / recipe.recipe_hash()
    async with set_up_lock(home, "rootfs", say):
        if found := rootfs_status(home):
            return found
        async with temporary_folder(parent) as folder:
            tree = folder / "tree"
            await debootstrap(tree, say, may_install=may_install)
            digest = await asyncio.to_thread(write_tar, tree, folder / "rootfs.tar")
            _facts_file(final).write_text(json.dumps({"digest": digest}), encoding="utf-8")
            tree.rename(final)
    return RootfsFacts(final, digest)


def rootfs_status(home: Path) -> RootfsFacts | None:
    """The root file system if it is there and complete."""
    path = home / "rootfs" / recipe.recipe_hash()
    if not path.is_dir():
        return None
    return RootfsFacts(path, json.loads(_facts_file(path).read_text(encoding="utf-8"))["digest"])


def _facts_file(path: Path) -> Path:
    return path.with_name(path.name + ".json")
