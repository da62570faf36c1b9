"""A folder that nobody may look into, also where the tests run as root, whom no permission keeps out."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest


def close(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if its mode were 0 and its owner somebody else: it is there, and what is in it cannot be asked about."""
    stat = Path.stat

    def refusing(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if folder in path.parents:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", refusing)
