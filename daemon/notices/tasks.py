"""A look at the task set: stats alone as long as no file of it changed; then it is loaded, and its digest counts.

Blocking: call it from a thread.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from daemon.config import TasksSection
from daemon.notices.seen import TasksSeen
from daemon.tasks.benchmarks.as_source import bench_name
from daemon.tasks.formats.plugin import plugin_name
from daemon.tasks.load import load_tasks
from daemon.tasks.manifest import manifest_file
from daemon.tasks.task import Task, TaskError

SKIPPED = frozenset({".git", ".honed"})
"""Folders that are never part of a set, though they may lie in its folder."""
MOST_FILES = 100_000
"""That are looked at: whoever has more of them is heard of by the others."""
_SETTLED_NS = 50_000_000
"""What changed so short a time ago may change again without a new time."""
_EVERYTHING = (".",)


def look_at_tasks(section: TasksSection, at: str, before: TasksSeen) -> TasksSeen:
    """`at`: the path as the file has it. What cannot be loaded keeps the digest of the last set that could."""
    known = before if before.at == at else TasksSeen(at)
    try:
        now = mark(section.path, known.beside)
        if now == known.mark and not now.endswith("~"):
            return known
        loaded = _load(section, known)
        # What the set is made of is known only now; a change since the first mark must not be lost.
        same = loaded.beside == known.beside
        return replace(loaded, mark=now if same else mark(section.path, loaded.beside, again=True))
    except OSError as error:
        what = f"{error.filename or section.path}: {error.strerror or error} (check [tasks] path and its permissions)"
        return replace(known, mark="", beside=_EVERYTHING, wrong=what)


def _load(section: TasksSection, known: TasksSeen) -> TasksSeen:
    beside = _Beside(section.path.parent)
    try:
        tasks = load_tasks(
            section.path,
            split_ratio=section.split,
            seed=section.split_seed,
            min_selection=section.min_selection,
            note=beside.note,
        )
    except TaskError as error:
        return replace(known, beside=_EVERYTHING, wrong=str(error))
    return replace(known, digest=tasks.digest, count=len(tasks.tasks), beside=tuple(sorted(beside.found)), wrong="")


def is_folder(path: Path) -> bool:
    """The set is a folder, and everything in it counts."""
    return path.is_dir()


def has_no_files(path: Path) -> bool:
    """The set is made by a plug-in or a benchmark: nothing on disk tells that it changed."""
    return plugin_name(path) is not None or bench_name(path) is not None


def mark(path: Path, beside: Iterable[str], *, again: bool = False) -> str:
    """Of everything that the set at `path` is made of, without reading it.

    It ends in `~`, and equals none, where something changed just now; likewise if `again` is given.
    """
    if has_no_files(path):
        return path.name
    digest, newest = hashlib.blake2b(digest_size=16), 0
    for name, stat in sorted(_stats(path, beside)):
        row = (name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, stat.st_dev)
        digest.update(repr(row).encode("utf-8", "surrogateescape"))
        newest = max(newest, stat.st_mtime_ns, stat.st_ctime_ns)
    unsure = again or abs(time.time_ns() - newest) < _SETTLED_NS
    return digest.hexdigest() + ("~" if unsure else "")


def _stats(path: Path, beside: Iterable[str]) -> Iterator[tuple[str, os.stat_result]]:
    places = [path] if is_folder(path) else [path, manifest_file(path), *(path.parent / name for name in beside)]
    left = MOST_FILES
    for place in places:
        for name, stat in _walk(str(place)):
            yield name, stat
            left -= 1
            if not left:
                return


def _walk(place: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every file at a place or below it; links to folders are not followed, and what vanishes meanwhile is gone."""
    try:
        entries = list(os.scandir(place))
    except NotADirectoryError:
        yield from _stat(place)
        return
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name not in SKIPPED:
                yield from _walk(entry.path)
        else:
            yield from _stat(entry.path)


def _stat(path: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        yield path, Path(path).stat()
    except OSError:
        return


@dataclass
class _Beside:
    """What tasks are made of, next to their file."""

    folder: Path
    found: set[str] = field(default_factory=set)

    def note(self, task: Task) -> None:
        """Of one task."""
        build = [task.environment.build] if task.environment and task.environment.build else []
        for file in (*task.files.values(), *task.tests.values(), *build):
            if file.is_relative_to(self.folder) and file != self.folder:
                self.found.add(file.relative_to(self.folder).parts[0])
