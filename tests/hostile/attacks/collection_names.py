"""Names and shapes of trees that mean harm to whoever prints, joins or walks them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from sandboxes.collect import MAX_LINES, collect
from sandboxes.sandbox import Collected, Limits
from tests.hostile.attack import Area, Stage, UntriedError, attack, holds


def _room(stage: Stage) -> Path:
    room = stage.folder / "workspace"
    room.mkdir()
    return room


def _printable(found: Collected) -> bool:
    return all(line.isprintable() and line.isascii() for line in found.skipped if not line.startswith("…"))


def _with_names(room: Path, names: list[bytes]) -> Collected:
    folder = os.open(room, os.O_RDONLY)
    try:
        for name in names:
            os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    finally:
        os.close(folder)
    return collect(room, Limits())


@attack(
    Area.COLLECTION,
    "names with line ends, tabs, escapes and other control characters",
    expected="left out, told escaped",
)
async def names_with_control_characters(stage: Stage) -> str:
    names = [b"a\nreward.txt: 1", b"\x1b[2Jgone", b"tab\t", b"bell\x07", b"del\x7f", "c1\u009b2J".encode(), b"cr\r"]
    found = _with_names(_room(stage), names)
    return holds(not found.files and len(found.skipped) == 7 and _printable(found), f"7 names told: {found.skipped[1]}")


@attack(Area.COLLECTION, "names that are no UTF-8, or half of a character", expected="left out, told escaped")
async def names_that_are_no_text(stage: Stage) -> str:
    found = _with_names(_room(stage), [b"\xff\xfe", b"caf\xe9", b"\xed\xa0\x80", b"\xc3", b"\xf4\x90\x80\x80"])
    return holds(not found.files and len(found.skipped) == 5 and _printable(found), found.skipped[0])


@attack(
    Area.COLLECTION, "names that read backwards (bidi) or not at all (zero width)", expected="nothing printed as it is"
)
async def names_that_deceive(stage: Stage) -> str:
    from harnesses.traces.summary import summarize
    from harnesses.traces.trace import FileChange, Trace

    names = ["gnp.\u202eexe", "a\u200bb", "\u2066x\u2069"]
    found = _with_names(_room(stage), [name.encode() for name in names])
    told = summarize(
        Trace(),
        outcome="x",
        harness="x",
        skill="",
        files=[FileChange(path, "add") for path in found.files],
        limit=9_000,
    )
    shown = [char for char in told if char in "\u202e\u200b\u2066\u2069"]
    return holds(not shown, f"{len(found.files)} of 3 collected; the summary shows none of their hidden characters")


@attack(Area.COLLECTION, "names of 255 bytes in folders of 255 bytes", expected="read, no failure of ours")
async def the_longest_names(stage: Stage) -> str:
    room, name = _room(stage), "n" * 255
    (room / name / name).mkdir(parents=True)
    (room / name / name / name).write_bytes(b"x")
    found = collect(room, Limits())
    return holds(list(found.files.values()) == [b"x"], f"a path of {len(next(iter(found.files)))} characters read")


@attack(Area.COLLECTION, "a tree deeper than any path can name (PATH_MAX)", expected="an end; told, not entered")
async def a_tree_beyond_any_path(stage: Stage) -> str:
    room = _room(stage)
    folder = os.open(room, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("d" * 60, dir_fd=folder)
        deeper = os.open("d" * 60, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = deeper
    os.close(os.open("secret", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)
    found = collect(room, Limits())
    return holds(
        not found.files and "deeper than" in found.skipped[0], f"24,000 characters deep: {found.skipped[0][-25:]}"
    )


def _flood(room: Path, count: int) -> Collected:
    for number in range(count):
        folder = room / f"{number // 50_000}"
        if number % 50_000 == 0:
            folder.mkdir()
        os.close(os.open(folder / f"{number:07}", os.O_CREAT | os.O_WRONLY))
    return collect(room, Limits(collect_files=500))


@attack(Area.COLLECTION, "three thousand empty files", expected="the cap of files holds, few lines tell")
async def a_flood_of_files(stage: Stage) -> str:
    found = _flood(_room(stage), 3_000)
    told = f"{len(found.files)} read, {len(found.skipped)} lines: {found.skipped[-1]}"
    return holds(len(found.files) == 500 and len(found.skipped) == MAX_LINES + 1, told)


@attack(
    Area.COLLECTION,
    "a hundred and fifty thousand empty files",
    expected="the cap of files holds, few lines tell",
    needs_engine=True,
)
async def a_great_flood_of_files(stage: Stage) -> str:
    if os.statvfs(stage.folder).f_favail < 200_000:
        raise UntriedError("the disk has no room for so many files")
    found = await asyncio.to_thread(_flood, _room(stage), 150_000)
    told = f"{len(found.files)} read, {len(found.skipped)} lines: {found.skipped[-1]}"
    return holds(len(found.files) == 500 and len(found.skipped) == MAX_LINES + 1, told)
