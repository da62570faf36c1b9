"""Things in a workspace that are no plain files, and plain files that do not hold still."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import threading
from pathlib import Path

from sandboxes.collect import collect
from sandboxes.sandbox import Limits
from tests.hostile.attack import Area, Stage, UntriedError, attack, holds


def _room(stage: Stage) -> Path:
    room = stage.folder / "workspace"
    room.mkdir()
    return room


@attack(Area.COLLECTION, "fifos that nobody writes to, some with names of results", expected="no wait, none read")
async def fifos(stage: Stage) -> str:
    room = _room(stage)
    for name in ("reward.txt", "answer.xlsx", "pipe"):
        os.mkfifo(room / name)
    async with asyncio.timeout(30):
        found = await asyncio.to_thread(collect, room, Limits())
    return holds(not found.files and len(found.skipped) == 3, "; ".join(found.skipped))


@attack(Area.COLLECTION, "unix sockets, one with somebody listening", expected="not connected to, not read")
async def sockets(stage: Stage) -> str:
    room = _room(stage)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(room / "s"))
        server.listen()
        server.setblocking(False)
        found = collect(room, Limits())
        try:
            server.accept()
            connected = True
        except BlockingIOError:
            connected = False
    return holds(not found.files and not connected, found.skipped[0])


@attack(Area.COLLECTION, "device files: memory, disks, terminals, /dev/zero", expected="none opened")
async def devices(stage: Stage) -> str:
    room = _room(stage)
    try:
        for number, (name, kind) in enumerate((("zero", stat.S_IFCHR), ("mem", stat.S_IFCHR), ("sda", stat.S_IFBLK))):
            os.mknod(room / name, kind | 0o666, os.makedev((1, 1, 8)[number], (5, 1, 0)[number]))
    except PermissionError:
        raise UntriedError("device files need root") from None
    found = collect(room, Limits())
    return holds(not found.files and len(found.skipped) == 3, "; ".join(found.skipped))


@attack(
    Area.COLLECTION,
    "files that grow, shrink and change while they are read",
    expected="whole as they were, or left out",
)
async def files_that_change_while_read(stage: Stage) -> str:
    room, done = _room(stage), threading.Event()
    versions = [bytes([65 + number]) * (1_000 * (number + 1)) for number in range(4)]
    file = room / "file"
    file.write_bytes(versions[0])

    def change() -> None:
        while not done.is_set():
            for version in versions:
                made = room / "new"
                made.write_bytes(version)
                made.rename(file)
                with file.open("r+b") as grown:
                    grown.truncate(len(version) // 2)

    thread = threading.Thread(target=change)
    thread.start()
    torn = 0
    try:
        for _ in range(150):
            data = collect(room, Limits()).files.get("file", b"")
            torn += len(set(data)) > 1 or len(data) not in {
                0,
                *(len(v) for v in versions),
                *(len(v) // 2 for v in versions),
            }
    finally:
        done.set()
        thread.join()
    return holds(not torn, f"150 reads, {torn} of them torn")


@attack(Area.COLLECTION, "a sparse file of four terabytes, and a thousand of a gigabyte", expected="refused unread")
async def sparse_giants(stage: Stage) -> str:
    room = _room(stage)
    for name, size in (("tera", 2**42), *((f"giga-{number:03}", 2**30) for number in range(200))):
        with (room / name).open("wb") as file:
            file.truncate(size)
    found = collect(room, Limits())
    return holds(not found.files and len(found.skipped) >= 200, f"{len(found.skipped)} told: {found.skipped[-1]}")


@attack(
    Area.COLLECTION, "files and folders of mode 000, the workspace too", expected="told or read, no failure of ours"
)
async def unreadable_modes(stage: Stage) -> str:
    from sandboxes.fake import FakeSandbox
    from sandboxes.sandbox import BoxSpec
    from tests.support.harnesses import USED

    assert USED.usage.requests
    async with FakeSandbox(lambda box, command: None).open(BoxSpec("a-1", stage.folder / "a", 2e9)) as box:  # type: ignore[arg-type, return-value]
        room = Path(box.layout.workspace)
        (room / "shut").write_bytes(b"x")
        (room / "shut").chmod(0)
        (room / "folder").mkdir()
        (room / "folder").chmod(0)
        room.chmod(0)
        found = await box.collect()
        (room / "folder").chmod(0o700)
    return holds(True, f"{len(found.files)} files read, {len(found.skipped)} told")


@attack(
    Area.COLLECTION,
    "a file that cannot be changed or removed (immutable)",
    expected="read as any; no trace needed of it",
)
async def an_immutable_file(stage: Stage) -> str:
    room = _room(stage)
    (room / "fixed").write_bytes(b"x")
    done = subprocess.run(["chattr", "+i", str(room / "fixed")], capture_output=True, check=False)
    if done.returncode:
        raise UntriedError("the file system knows no immutable files, or this user may not make them")
    try:
        found = collect(room, Limits())
    finally:
        subprocess.run(["chattr", "-i", str(room / "fixed")], check=True)
    return holds(found.files == {"fixed": b"x"}, "read")
