"""Lay a task's files where a box can show them read-only: its tests, its solution."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath


def stage(files: Mapping[str, Path], folder: Path) -> None:
    """Copy them into a new folder, readable by whoever the box runs as (blocks)."""
    folder.mkdir()
    for path, source in sorted(files.items()):
        target = folder.joinpath(*PurePosixPath(path).parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o555)
    for made in (folder, *(found for found in folder.rglob("*") if found.is_dir())):
        made.chmod(0o755)
