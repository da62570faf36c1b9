"""Scratch that outlived its use in a process that lives on: old scratch folders, canaries, doors nobody listens at.

At the start of a process the lock says that all scratch is a dead one's (`daemon.recovery`); later only age can.
All of it blocks.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from daemon.housekeeping.folders import CANARY
from daemon.recovery.trees import remove_tree
from sandboxes.gateway.listener import dead_doors

OLD_S = 86_400.0
"""No verifier, canary or door is that slow to be used."""


def old_scratch(state: Path, now: float) -> tuple[Path, ...]:
    """What may be removed."""
    scratch = [*_children(state / "scratch"), *_children(state / "attempts", f"{CANARY}*")]
    doors = dead_doors(state / "doors")
    return tuple(sorted(path for path in (*scratch, *doors) if _age(path, now) > OLD_S))


def remove_scratch(paths: tuple[Path, ...]) -> tuple[str, ...]:
    """Remove them; returns one line for each that stays."""
    return tuple(problem for path in paths if (problem := remove_tree(path)))


def unused_images(state: Path, now: float, days: float) -> tuple[Path, ...]:
    """What was copied out of tasks' images that no process has asked for in so long: only where no honed is at work."""
    return tuple(path for path in _children(state / "images") if _age(path, now) > days * 86_400)


def _children(folder: Path, pattern: str = "*") -> Iterator[Path]:
    if folder.is_dir() and not folder.is_symlink():
        yield from folder.glob(pattern)


def _age(path: Path, now: float) -> float:
    try:
        info = path.lstat()
    except FileNotFoundError:
        return 0.0
    # Of a folder, what is directly in it counts too: a long verifier writes there.
    newest = info.st_mtime
    if stat.S_ISDIR(info.st_mode):
        newest = max([newest, *(child.lstat().st_mtime for child in path.iterdir())])
    return max(0.0, now - newest)
