"""A box's folders on the host: made private, owned by the user the command runs as, written and read with care.

The attempt's folder stays closed to everyone else (0700); only `workspace` and `out` are shown inside.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from sandboxes.carry import make_way, move_workspace, only_folders
from sandboxes.collect import collect
from sandboxes.lay import Owner, lay
from sandboxes.sandbox import BoxSpec, Collected, Limits, Room, Root, SandboxError
from sandboxes.wrapper import FORWARD_FILE, FORWARD_SCRIPT

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
    root: Root | None = None
    carried: bool = False
    """Hostile code was at work in the workspace before anything is laid."""

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
        await asyncio.to_thread(self._write, files, room, modes or {})

    def settle(self) -> None:
        """Make sure that a root's further folders are folders, and no links that a command left (blocks).

        Before every command: the engine shows what they lead to.
        """
        folders = () if self.root is None else sorted(self.root.folders.values())
        if not folders:
            return
        try:
            only_folders(self.workspace, folders, self._aside)
            for name in folders:
                _open_folder(self.workspace, PurePosixPath(name).parts, self.owner)
        except OSError as error:
            message = f"cannot make ready the folders of {self.folder.name}: {error.strerror}"
            raise SandboxError(message) from error

    @property
    def _aside(self) -> Path:
        return self.folder / "aside"

    def _write(self, files: Mapping[str, bytes], room: Room, modes: Mapping[str, int]) -> None:
        if self.carried and room == "workspace":
            checked = [path for path in files if ".." not in PurePosixPath(path).parts and PurePosixPath(path).parts]
            try:
                make_way(self.workspace, checked, self._aside)
            except OSError as error:
                message = f"cannot make way for files in {self.folder.name}: {error.strerror or error}"
                raise SandboxError(message) from error
        lay(self.folder / room, files, self.owner, modes)

    async def collect(self, *, room: Room = "workspace") -> Collected:
        """As `Box.collect`."""
        try:
            return await asyncio.to_thread(self._collect, self.folder / room)
        except OSError as error:
            message = f"cannot read the {room} of {self.folder.name}: {error.strerror}"
            raise SandboxError(message) from error

    def _collect(self, folder: Path) -> Collected:
        """What ran in the box owns the folder, and may have closed it to us."""
        if stat.S_ISDIR(folder.lstat().st_mode):
            folder.chmod(stat.S_IRWXU)
        return collect(folder, self.limits)


def make_rooms(spec: BoxSpec, owner: Owner, *, own_roots: bool = False) -> Rooms:
    """Make the folders of `spec`; raises `SandboxError` if the host's disk refuses.

    `own_roots`: the engine can show a `Root`. For another one such a box is refused: it would be another machine.
    """
    if spec.root is not None and not own_roots:
        message = f"the task has an image of its own ({spec.root.image[:19]}), which Docker alone can run: use Docker"
        raise SandboxError(message)
    rooms = Rooms(spec.folder.absolute(), owner, spec.limits, spec.root, carried=spec.carried is not None)
    try:
        private_folder(rooms.folder)
        if spec.gateway_socket is not None:
            _lay_forwarder(rooms.folder)
        if spec.carried is not None:
            move_workspace(spec.carried.folder.absolute() / "workspace", rooms.workspace)
        for room in rooms.both:
            private_folder(room, owner)
        if spec.carried is not None:
            make_way(rooms.workspace, spec.carried.clear, rooms.folder / "aside", whole=True)
        for name in () if spec.root is None or rooms.carried else spec.root.make:
            _open_folder(rooms.workspace, PurePosixPath(name).parts, owner)
    except OSError as error:
        message = f"cannot make the attempt's folder {rooms.folder}: {error.strerror}"
        raise SandboxError(message) from error
    rooms.settle()
    return rooms


def _lay_forwarder(folder: Path) -> None:
    copy = folder / FORWARD_FILE
    copy.write_bytes(FORWARD_SCRIPT.read_bytes())
    copy.chmod(0o644)


def _open_folder(room: Path, parts: tuple[str, ...], owner: Owner) -> None:
    """Make a folder of a room, and what is above it, for `owner`: no link may stand there."""
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
