"""Removing a tree that hostile code may have made: folders without rights, links, odd names."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def remove_tree(path: Path) -> str:
    """Remove a file or a whole folder, following no link; returns one line why something of it is left. Blocking."""
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
        else:
            shutil.rmtree(path, onerror=_again)
    except (OSError, RecursionError) as error:
        return f"{path} cannot be removed: {getattr(error, 'strerror', None) or type(error).__name__}"
    return ""


def _again(remove: Callable[..., Any], path: str, _: object) -> None:
    """Give the folder above and the folder itself their rights back, then once more; raises where that is no help."""
    for folder in (Path(path).parent, Path(path)):
        with suppress(OSError):
            if stat.S_ISDIR(folder.lstat().st_mode):
                folder.chmod(0o700)
    if not os.path.lexists(path):
        return
    if stat.S_ISDIR(Path(path).lstat().st_mode):
        shutil.rmtree(path)
    else:
        Path(path).unlink()
    del remove
