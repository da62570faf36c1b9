"""A workspace full of links: what they lead to is never read, though whoever followed them would read it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandboxes.collect import collect
from sandboxes.sandbox import Collected, Limits
from tests.hostile.attack import Area, Stage, attack, holds

SECRET = b"another attempt's secret"


def _outside(stage: Stage) -> Path:
    """A file beside the workspace, as another attempt's."""
    file = stage.folder / "other" / "answer.txt"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(SECRET)
    return file


def _room(stage: Stage) -> Path:
    room = stage.folder / "workspace"
    room.mkdir()
    (room / "honest.txt").write_bytes(b"ok")
    return room


def _only_honest(found: Collected, skipped: int) -> str:
    told = f"{len(found.files)} file read, {len(found.skipped)} left out by name"
    return holds(dict(found.files) == {"honest.txt": b"ok"} and len(found.skipped) == skipped, told)


@attack(
    Area.COLLECTION,
    "links to /etc/shadow, /etc/passwd and the key's environment file",
    expected="none followed",
)
async def links_to_the_hosts_files(stage: Stage) -> str:
    room = _room(stage)
    for name, to in (("a", "/etc/shadow"), ("b", "/etc/passwd"), ("c", "/proc/self/environ"), ("d", "/proc/1/root")):
        (room / name).symlink_to(to)
    assert (room / "b").read_bytes(), "whoever followed the link would read it"
    return _only_honest(collect(room, Limits()), 4)


@attack(Area.COLLECTION, "links, relative and absolute, to another attempt's folder", expected="none followed")
async def links_to_another_attempt(stage: Stage) -> str:
    room, other = _room(stage), _outside(stage)
    (room / "file").symlink_to("../other/answer.txt")
    (room / "folder").symlink_to(other.parent)
    assert (room / "file").read_bytes() == (room / "folder/answer.txt").read_bytes() == SECRET
    return _only_honest(collect(room, Limits()), 2)


@attack(Area.COLLECTION, "links to /proc/self/fd and to honed's open files", expected="none followed, nothing closed")
async def links_to_open_descriptors(stage: Stage) -> str:
    room, other = _room(stage), _outside(stage)
    with other.open("rb") as file:
        (room / "open").symlink_to(f"/proc/self/fd/{file.fileno()}")
        (room / "all").symlink_to("/proc/self/fd")
        assert (room / "open").read_bytes() == SECRET
        told = _only_honest(collect(room, Limits()), 2)
        assert file.read() == SECRET
    return told


@attack(Area.COLLECTION, "links to themselves, to their folder, in rings and chains of a thousand", expected="an end")
async def links_in_loops_and_chains(stage: Stage) -> str:
    room = _room(stage)
    (room / "self").symlink_to("self")
    (room / "here").symlink_to(".")
    (room / "ring-1").symlink_to("ring-2")
    (room / "ring-2").symlink_to("ring-1")
    for number in range(1000):
        (room / f"chain-{number:04}").symlink_to(f"chain-{number + 1:04}")
    found = collect(room, Limits())
    return holds(list(found.files) == ["honest.txt"], f"{len(found.files)} file read, {found.skipped[-1]}")


@contextmanager
def _swapping(folder: Path, to: Path) -> Iterator[list[int]]:
    """A thread that makes `folder` a link and a folder again, as fast as it can."""
    done, count = threading.Event(), [0]
    aside, link = folder.with_name("aside"), folder.with_name("link")
    link.symlink_to(to)

    def swap() -> None:
        while not done.is_set():
            folder.rename(aside)
            link.rename(folder)
            folder.rename(link)
            aside.rename(folder)
            count[0] += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield count
    finally:
        done.set()
        thread.join()


@attack(
    Area.COLLECTION,
    "a folder that becomes a link to another attempt while it is read, thousands of times",
    expected="the other attempt's file never read",
)
async def a_folder_swapped_for_a_link(stage: Stage) -> str:
    room, other = _room(stage), _outside(stage)
    folder = room / "deep" / "folder"
    folder.mkdir(parents=True)
    (folder / "answer.txt").write_bytes(b"the agent's own")
    reads = seen = 0
    with _swapping(folder, other.parent) as swapped:
        while reads < 100 or (swapped[0] < 200 and reads < 5_000):
            found = collect(room, Limits())
            reads += 1
            seen += SECRET in found.files.values()
    return holds(not seen and swapped[0], f"read {reads} times while swapped: {seen} leaks")


@attack(Area.COLLECTION, "hard links in great number to one large file", expected="each counts against the caps")
async def hard_links_as_a_bomb(stage: Stage) -> str:
    room = _room(stage)
    (room / "a").write_bytes(b"x" * 100_000)
    for number in range(200):
        os.link(room / "a", room / f"a-{number:03}")
    found = collect(room, Limits(collect_bytes=1_000_000))
    total = sum(map(len, found.files.values()))
    return holds(total <= 1_000_000, f"{total:,} bytes of 20 million read, {len(found.skipped)} files left out")
