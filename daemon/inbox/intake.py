"""Takes sessions in: files that are given, the inbox folder, and the folders that the configuration watches.

Invariants: what was read and not changed since is not read again; a file that is no session stops nothing; folders are
walked without following links, within bounds, in order. Once a sweep is over, what is old or too much has gone.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog

from daemon.inbox.inbox import FileMark, Inbox, age_of
from daemon.inbox.reading import NoSessionError, read_session_file
from daemon.inbox.record import SessionRecord

log = structlog.get_logger(__name__)

DAY_S = 86_400.0
MOST_FILES = 5_000
"""Of one folder in one sweep: the newest."""
_DEPTH = 10

Came = Literal["new", "grown", "known", "unchanged", "old", "refused"]
"""`old`: found in a folder and too old to be kept; a file that somebody named is refused for that."""


@dataclass(frozen=True)
class Taken:
    """What became of one file."""

    file: Path
    came: Came
    key: str = ""
    reason: str = ""
    """Why it was refused."""


@dataclass(frozen=True)
class Intake:
    """Takes sessions into an inbox."""

    inbox: Inbox
    most: int
    """Sessions that are kept, the newest."""
    days: float
    clock: Callable[[], float]

    async def add(self, files: Sequence[Path]) -> tuple[Taken, ...]:
        """Files and folders of files that somebody names, in order; each file is read even if it did not change."""
        found = [one for file in files for one in await asyncio.to_thread(_files, file)]
        return await self._take(found, again=True)

    async def sweep(self, folders: Sequence[Path]) -> tuple[Taken, ...]:
        """Whatever is new below these folders; a folder that is not there holds nothing."""
        found = [one for folder in folders for one in await asyncio.to_thread(_files, folder) if folder.is_dir()]
        return await self._take(found, again=False)

    async def _take(self, files: Sequence[Path], *, again: bool) -> tuple[Taken, ...]:
        files = list(dict.fromkeys(files))
        # Looked at together: a daemon sweeps thousands of files that nobody writes to, again and again.
        known = {} if again or not files else await self._at_a_glance(files)
        taken = [known.get(file) or await self._one(file, again=again) for file in files]
        if taken:
            await self.inbox.prune(older_than=self._oldest(), most=self.most)
        return tuple(taken)

    async def _at_a_glance(self, files: Sequence[Path]) -> dict[Path, Taken]:
        """Those that need not be read: too old, or as they were when they were."""
        settled, oldest = await self.inbox.settled(), self._oldest()

        def look() -> dict[Path, Taken]:
            found = {}
            for file in files:
                with suppress(OSError):  # whoever reads it says so
                    state, touched = _state(file)
                    if touched < oldest:
                        found[file] = Taken(file, "old", reason=self._too_old())
                    elif settled.get(_place(file)) == state:
                        found[file] = Taken(file, "unchanged")
            return found

        return await asyncio.to_thread(look)

    def _oldest(self) -> float:
        return self.clock() - self.days * DAY_S

    def _too_old(self) -> str:
        return f"ended more than {self.days:g} days ago ([inbox] keep_days)"

    async def _one(self, file: Path, *, again: bool) -> Taken:
        place, now, oldest = _place(file), self.clock(), self._oldest()
        try:
            state, touched = await asyncio.to_thread(_state, file)
            if touched < oldest:
                return Taken(file, "refused" if again else "old", reason=self._too_old())
            record: SessionRecord = await asyncio.to_thread(read_session_file, file, now)
        except NoSessionError as error:
            await self.inbox.mark(FileMark(place, state), now)
            return Taken(file, "refused", reason=str(error))
        except OSError as error:
            return Taken(file, "refused", reason=f"cannot be read: {error.strerror}")
        if age_of(record, now) < oldest:
            await self.inbox.mark(FileMark(place, state), now)
            return Taken(file, "refused" if again else "old", reason=self._too_old())
        saved = await self.inbox.save(record, now)
        await self.inbox.mark(FileMark(place, state, record.settled), now)
        log.debug("session read", session=record.key, came=saved, turns=record.turns, incidents=len(record.incidents))
        return Taken(file, saved, key=record.key)


def _place(file: Path) -> str:
    return hashlib.sha256(os.fsencode(file.absolute())).hexdigest()[:32]


def _state(file: Path) -> tuple[str, float]:
    """A digest of what changes when somebody writes to the file, and when that last was."""
    found = file.lstat()
    told = f"{found.st_size} {found.st_mtime_ns} {found.st_ino} {found.st_mode}"
    return hashlib.sha256(told.encode()).hexdigest()[:16], found.st_mtime


def _files(root: Path) -> list[Path]:
    """A file itself; below a folder, the newest session files by name, ordered by path."""
    if not root.is_dir() or root.is_symlink():
        return [root]
    found = list(_walk(root, _DEPTH))
    newest = sorted(found, key=lambda row: (-row[0], row[1]))[:MOST_FILES]
    if len(found) > MOST_FILES:
        log.warning(
            "the folder has too many sessions: the newest are read", folder=root.name, left=len(found) - MOST_FILES
        )
    return sorted(path for _, path in newest)


def _walk(folder: Path, depth: int) -> Iterator[tuple[float, Path]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        log.warning("a folder of sessions cannot be read", folder=folder.name, error=error.strerror)
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False) and depth:
            yield from _walk(Path(entry.path), depth - 1)
        elif entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
            try:
                yield entry.stat(follow_symlinks=False).st_mtime, Path(entry.path)
            except FileNotFoundError:  # taken away meanwhile
                continue
