"""Where a project's changes happen on disk: folders to watch, and which names in them matter. Blocking: stats alone.

Folders are watched, never files, for editors put another file in the old one's place. A link on the way to a file, and
a folder that may be made anew, are watched from the folder above. The skill's own folder is not among them: what
counts of a skill is committed, and a commit moves a ref. Nor are git's objects and honed's state.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from daemon.notices.tasks import SKIPPED, has_no_files
from daemon.service.project import Project

_LOCK = ".lock"


@dataclass(frozen=True, order=True)
class Place:
    """One folder."""

    folder: str
    recursive: bool = False


@dataclass
class Names:
    """What matters in a folder, for one project."""

    all: bool = False
    some: set[str] = field(default_factory=set)
    """First parts of paths below the folder."""

    def matter(self, parts: tuple[str, ...]) -> bool:
        """An event at this path below the folder; none: at the folder itself."""
        if not parts:
            return True
        if parts[-1].endswith(_LOCK):
            return False  # git's: what it guards is moved into place afterwards
        return parts[0] in self.some or (self.all and not SKIPPED & set(parts))


Wanted = dict[Place, Names]


def places_of(project: Project, beside: Iterable[str] = ()) -> Wanted:
    """What to watch for a project, as things lie now; `beside` is what its task set is made of (`TasksSeen.beside`)."""
    wanted: Wanted = {}
    _file(wanted, project.file)
    _tasks(wanted, project, beside)
    _repository(wanted, project.config.skill.repository)
    return wanted


def existing(place: Place, names: Names) -> tuple[Place, Names]:
    """The place itself, or where there is none yet the nearest folder above it, in which it will appear."""
    folder, missing = Path(place.folder), ""
    while not _holds(folder.is_dir):
        folder, missing = folder.parent, folder.name
    return (Place(str(folder)), Names(some={missing})) if missing else (place, names)


def _holds(ask: Callable[[], bool]) -> bool:
    """What may not be asked does not hold: a folder above is closed to us."""
    try:
        return ask()
    except OSError:
        return False


def _add(wanted: Wanted, folder: Path, *names: str, recursive: bool = False) -> None:
    """Everything in the folder matters if no names are given. A link to it tells nothing of what is in it."""
    found = wanted.setdefault(Place(os.path.realpath(folder), recursive), Names())
    found.some.update(names)
    found.all = found.all or not names


def _file(wanted: Wanted, path: Path, *also: str) -> None:
    """A file (and others beside it), wherever links lead to it."""
    _add(wanted, path.parent, path.name)
    _links(wanted, path)
    real = Path(os.path.realpath(path))
    _add(wanted, real.parent, real.name, *also)


def _links(wanted: Wanted, path: Path) -> None:
    """Links on the way, each of which may be led elsewhere."""
    seen: set[Path] = set()
    todo = [path]
    while todo:
        here, *parts = Path(os.path.normpath(todo.pop())).parts
        folder = Path(here)
        for at, part in enumerate(parts):
            step = folder / part
            if step not in seen and (target := _target(step)) is not None:
                seen.add(step)
                _add(wanted, folder, part)
                todo.append(folder.joinpath(target, *parts[at + 1 :]))
                break
            folder = step


def _target(path: Path) -> Path | None:
    """Where a link leads; None for what is none, or gone, or closed to us."""
    try:
        return path.readlink()
    except OSError:
        return None


def _tasks(wanted: Wanted, project: Project, beside: Iterable[str]) -> None:
    path = project.file.parent / (_given(project.file) or project.config.tasks.path)
    real = Path(os.path.realpath(path))
    if has_no_files(real):
        return
    _links(wanted, path)
    _add(wanted, real.parent, real.name)
    if _holds(real.is_dir):
        for folder, recursive in _whole(real):
            _add(wanted, folder, recursive=recursive)
        return
    _file(wanted, real, f"{real.stem}.splits.json", *beside)
    for name in beside:
        if name == ".":
            for folder, recursive in _whole(real.parent):
                _add(wanted, folder, recursive=recursive)
        elif _holds((real.parent / name).is_dir):
            _add(wanted, real.parent / name, recursive=True)


def _whole(folder: Path) -> Iterator[tuple[Path, bool]]:
    """A folder with all below it, but for git's and honed's own, which are as large as they are busy."""
    try:
        inside = [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        inside = []
    if not any(one.name in SKIPPED for one in inside):
        yield folder, True
        return
    yield folder, False
    yield from ((one, True) for one in sorted(inside) if one.name not in SKIPPED)


def _given(file: Path) -> str:
    """`[tasks] path` as the file has it, with its links; empty if it cannot be read now."""
    try:
        section = tomllib.loads(file.read_bytes().decode("utf-8-sig")).get("tasks")
    except (OSError, ValueError, RecursionError):
        return ""
    path = section.get("path") if isinstance(section, Mapping) else None
    return path if isinstance(path, str) and "\0" not in path else ""


def _repository(wanted: Wanted, root: Path) -> None:
    """HEAD, and all refs, wherever this work tree keeps them."""
    _add(wanted, root.parent, root.name)
    own = root
    if _holds((root / ".git").exists) or not _holds((root / "objects").is_dir):
        _add(wanted, root, ".git")
        own = _pointed(root / ".git", "gitdir: ")
    shared = _pointed(own / "commondir", "") if _holds((own / "commondir").is_file) else own
    _add(wanted, own, "HEAD")
    _add(wanted, shared, "HEAD", "packed-refs", "refs", "reftable")
    for name in ("refs", "reftable"):
        if _holds((shared / name).is_dir):
            _add(wanted, shared / name, recursive=True)


def _pointed(file: Path, before: str) -> Path:
    """A folder, or the one that a file of git's points to."""
    try:
        text = file.read_text("utf-8", "surrogateescape").strip() if file.is_file() else ""
    except OSError:
        text = ""
    if not text.startswith(before) or not text:
        return file
    return Path(os.path.normpath(file.parent / text.removeprefix(before)))
