"""The state folder, closed to others whatever the umask: it holds expected answers, traces and work in progress."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterable
from pathlib import Path

NAME = ".honed"
_FOLDERS = ("attempts", "doors", "images", "inbox", "scratch")
_FILES = (".gitignore", "engine", "inbox.sqlite", "journal.sqlite")


class MisplacedError(OSError):
    """A file where a folder belongs, or the other way round; `strerror` says what to do."""


def private_folder(folder: Path) -> None:
    """Make a folder for its owner alone; a state folder that is open to others, of an older honed, is closed.

    Any other folder that is there already keeps its mode: it is somebody's choice. A project that is gone is not made
    anew for its state's sake. Raises `OSError`. Blocking.
    """
    refuse_misplaced(folders=[folder])
    folder.mkdir(mode=0o700, parents=folder.name != NAME, exist_ok=True)
    if folder.name == NAME and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        folder.chmod(0o700)


def refuse_misplaced_state(state: Path) -> None:
    """Everything that honed makes in a state folder is a folder or a file, as it must be; raises `MisplacedError`."""
    refuse_misplaced(folders=[state / name for name in _FOLDERS], files=[state / name for name in _FILES])


def refuse_misplaced(*, folders: Iterable[Path] = (), files: Iterable[Path] = ()) -> None:
    """Raise `MisplacedError` for the first that is something else; what is missing is no fault. Links are followed.

    Blocks.
    """
    for path in folders:
        if path.exists() and not path.is_dir():
            what = "is no folder, and honed needs one there: move it away, honed makes its own"
            raise MisplacedError(errno.ENOTDIR, what, str(path))
    for path in files:
        if path.is_dir():
            what = "is a folder, and honed needs a file there: move it away, honed makes its own"
            raise MisplacedError(errno.EISDIR, what, str(path))
