"""Watches on folders that come and go, kept in agreement with what is wanted. Blocking, but for `Eyes`' own threads.

A watch that lost its folder (deleted, moved away, made anew) is put up again; a missing folder is awaited in the one
above it. What cannot be watched is said, and is looked at by the poll alone.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import structlog
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)

from daemon.notices.places import Names, Place, Wanted, existing

_KINDS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileDeletedEvent,
    FileClosedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]
"""None of reading: a look reads, and must not wake the next one."""
_LIMITS = {
    errno.ENOSPC: "the limit of inotify watches is reached (raise fs.inotify.max_user_watches)",
    errno.EMFILE: "the limit of inotify instances is reached (raise fs.inotify.max_user_instances)",
}

log = structlog.get_logger(__name__)


def why_blind(error: OSError, what: str) -> str:
    """Why something cannot be watched, with the remedy where there is one."""
    return _LIMITS.get(error.errno or 0, f"{what}: {error.strerror or error}")


class Eyes(Protocol):
    """What a watchdog observer can do."""

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End."""

    def join(self) -> None:
        """Wait for the end."""

    def schedule(
        self,
        event_handler: FileSystemEventHandler,
        path: str,
        *,
        recursive: bool = False,
        event_filter: list[type[FileSystemEvent]] | None = None,
    ) -> Any:
        """Watch a folder; raises `OSError`."""

    def unschedule(self, watch: Any) -> None:
        """Do not watch it any more."""


@runtime_checkable
class TellsRefused(Protocol):
    """Eyes that know which folders below a watched one the kernel does not watch."""

    def refused_below(self, folder: str) -> OSError | None:
        """Why not; None if all are watched."""


class NoEyes:
    """For where no events come: the poll alone looks."""

    def start(self) -> None:
        """Nothing to begin."""

    def stop(self) -> None:
        """Nothing to end."""

    def join(self) -> None:
        """Nothing to wait for."""

    def schedule(self, event_handler: FileSystemEventHandler, path: str, **_: object) -> object:
        """See nothing."""
        return path

    def unschedule(self, watch: object) -> None:
        """Still see nothing."""


class _Handler(FileSystemEventHandler):
    """Hands a folder's events on."""

    def __init__(self, place: Place, hand_on: Callable[[Place, FileSystemEvent], None]) -> None:
        self._place = place
        self._hand_on = hand_on

    def dispatch(self, event: FileSystemEvent) -> None:
        self._hand_on(self._place, event)


class Arms:
    """The watches of all projects, one a folder. `told` is called with project names, from another thread."""

    def __init__(self, eyes: Eyes, told: Callable[[Iterable[str]], None]) -> None:
        self._eyes = eyes
        self._told = told
        self._lock = threading.Lock()
        self._names: dict[Place, dict[str, Names]] = {}
        self._watches: dict[Place, tuple[tuple[int, int], Any]] = {}
        self._lost: set[Place] = set()
        self.faults: dict[Place, str] = {}
        """Folders that cannot be watched, and why."""

    def update(self, wanted: Mapping[str, Wanted]) -> None:
        """Watch what is wanted now, by project, and nothing else."""
        names: dict[Place, dict[str, Names]] = {}
        for project, places in wanted.items():
            for place, some in places.items():
                there, these = existing(place, some)
                kept = names.setdefault(there, {}).setdefault(project, Names())
                kept.some |= these.some
                kept.all = kept.all or these.all
        with self._lock:
            self._names = names
            lost, self._lost = self._lost, set()
        for place in [place for place in self._watches if place not in names or self._is_other(place, lost)]:
            self._eyes.unschedule(self._watches.pop(place)[1])
        self.faults = {}
        for place in sorted(names.keys() - self._watches.keys()):
            self._watch(place)
        for place in sorted(self._watches):
            self._look_below(place)

    def close(self) -> None:
        """End the threads."""
        self._watches.clear()
        self._eyes.stop()
        self._eyes.join()

    def _is_other(self, place: Place, lost: set[Place]) -> bool:
        """The watch is on a folder that is not the one of this name any more."""
        return place in lost or _identity(place.folder) != self._watches[place][0]

    def _watch(self, place: Place) -> None:
        who = _identity(place.folder)
        if who is None:
            return  # gone again: whoever saw that asks for another update
        handler = _Handler(place, self._seen)
        try:
            watch = self._eyes.schedule(handler, place.folder, recursive=place.recursive, event_filter=_KINDS)
        except FileNotFoundError:
            return
        except OSError as error:
            self.faults[place] = why_blind(error, place.folder)
            return
        self._watches[place] = (who, watch)

    def _look_below(self, place: Place) -> None:
        """Folders below that are not watched are tried again by the next update."""
        if not (place.recursive and isinstance(self._eyes, TellsRefused)):
            return
        error = self._eyes.refused_below(place.folder)
        if error is not None:
            self.faults[place] = why_blind(error, place.folder)
            with self._lock:
                self._lost.add(place)

    def _seen(self, place: Place, event: FileSystemEvent) -> None:
        """An event, in the observer's thread."""
        paths = [_below(place.folder, path) for path in (event.src_path, event.dest_path) if path]
        with self._lock:
            if () in paths and event.event_type in ("deleted", "moved"):
                self._lost.add(place)
            names = self._names.get(place, {})
            found = [who for who, some in names.items() if any(one is not None and some.matter(one) for one in paths)]
        if found:
            self._told(found)


def _below(folder: str, path: bytes | str) -> tuple[str, ...] | None:
    """The parts of a path below a folder; None where it is elsewhere."""
    text = os.fsdecode(path)
    if text == folder:
        return ()
    top = folder if folder.endswith("/") else folder + "/"
    return tuple(text.removeprefix(top).split("/")) if text.startswith(top) else None


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        stat = Path(folder).stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
