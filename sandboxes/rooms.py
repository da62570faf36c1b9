"""A box's folders on the host: made private, owned by the user the command runs as, written and read with care.

The attempt's folder stays closed to everyone else (0700); only `workspace` and `out` are shown inside.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sandboxes.collect import collect
from sandboxes.lay import Owner, lay
from sandboxes.sandbox import BoxSpec, Collected, Limits, Room, Root, SandboxError

INNER_UID = 1000
"""The user inside where honed itself is root."""


def box_owner() -> Owner:
    """The numeric user a box runs as: honed's own, but never root."""
    if os.geteuid() == 0:
        return Owner(INNER_UID, INNER_UID)
    return Owner(os.geteuid(), os.getegid())


@dataclass(frozen=True)
class Rooms:
    """The writable folders of one box."""

    folder: Path
    owner: Owner
    limits: Limits

    @property
    def workspace(self) -> Path:
        """Host path of the workspace."""
        return self.folder / "workspace"

    @property
    def out(self) -> Path:
        """Host path of the output folder."""
        return self.folder / "out"

    @property
    def both(self) -> tuple[Path, ...]:
        """What the disk bound counts."""
        return (self.workspace, self.out)

    async def write(
        self, files: Mapping[str, bytes], *, room: Room = "workspace", modes: Mapping[str, int] | None = None
    ) -> None:
        """As `Box.write`."""
        await asyncio.to_thread(lay, self.folder / room, files, self.owner, modes or {})

    async def collect(self, *, room: Room = "workspace") -> Collected:
        """As `Box.collect`."""
        try:
            return await asyncio.to_thread(collect, self.folder / room, self.limits)
        except OSError as error:
            message = f"cannot read the {room} of {self.folder.name}: {error.strerror}"
            raise SandboxError(message) from error


def make_rooms(spec: BoxSpec, owner: Owner, *, own_roots: bool = False) -> Rooms:
    """Make the folders of `spec`; raises `SandboxError` if the host's disk refuses.

    `own_roots`: the engine can show a `Root`. For another one such a box is refused: it would be another machine.
    """
    if spec.root is not None and not own_roots:
        message = f"the task has an image of its own ({spec.root.image[:19]}), which Docker alone can run: use Docker"
        raise SandboxError(message)
    rooms = Rooms(spec.folder.absolute(), owner, spec.limits)
    try:
        private_folder(rooms.folder)
        for room in rooms.both:
            private_folder(room, owner)
        for name in _wanted(spec.root):
            _open_folder(rooms.workspace, PurePosixPath(name).parts, owner)
    except OSError as error:
        message = f"cannot make the attempt's folder {rooms.folder}: {error.strerror}"
        raise SandboxError(message) from error
    return rooms


def _wanted(root: Root | None) -> list[str]:
    return [] if root is None else sorted({*root.folders.values(), *root.make})


def _open_folder(room: Path, parts: tuple[str, ...], owner: Owner) -> None:
    """Make a folder of a room that nothing was written to yet, and what is above it, for `owner`."""
    assert ".." not in parts, "a root's folders lie in the workspace"
    for length in range(1, len(parts) + 1):
        folder = room.joinpath(*parts[:length])
        folder.mkdir(mode=0o755, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(folder, owner.uid, owner.gid)


def private_folder(path: Path, owner: Owner | None = None) -> None:
    """Make `path` (parents too) with mode 0700, for `owner` where we are root."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    if owner is not None and os.geteuid() == 0:
        os.chown(path, owner.uid, owner.gid)
