"""The state folder, closed to others whatever the umask: it holds expected answers, traces and work in progress."""

from __future__ import annotations

import stat
from pathlib import Path

NAME = ".honed"


def private_folder(folder: Path) -> None:
    """Make a folder for its owner alone; a state folder that is open to others, of an older honed, is closed.

    Any other folder that is there already keeps its mode: it is somebody's choice. A project that is gone is not made
    anew for its state's sake. Raises `OSError`. Blocking.
    """
    folder.mkdir(mode=0o700, parents=folder.name != NAME, exist_ok=True)
    if folder.name == NAME and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        folder.chmod(0o700)
