"""A root file system as files: tidied, and written as a reproducible tar.

Invariant: the same packages give the same bytes (no logs, caches, host names or build times inside).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator
from pathlib import Path

from sandboxes.image import recipe

EPOCH = 315_532_800
"""1980-01-01: the date of folders and of what a build made. Packages' own files keep theirs: compiled Python records
its source's date, and would be compiled anew at every start."""
_EMPTIED = (
    *("dev", "proc", "sys", "run", "tmp", "var/cache/apt", "var/cache/debconf", "var/cache/ldconfig", "var/log"),
    *("var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/info", "usr/share/locale"),
)
_BLANKED = ("etc/resolv.conf", "etc/hostname", "etc/machine-id", "etc/apt/sources.list")


def tidy(tree: Path) -> None:
    """Remove what differs between runs and what no agent needs; drop set-uid bits; name the agent's user."""
    for name in _EMPTIED:
        folder = tree / name
        if folder.is_symlink() or not folder.is_dir():
            continue
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
    for name in _BLANKED:
        (tree / name).unlink(missing_ok=True)
        (tree / name).write_text("", encoding="utf-8")
    for file, line in recipe.ACCOUNT_LINES.items():
        with (tree / "etc" / file).open("a", encoding="utf-8") as out:
            out.write(line + "\n")
        (tree / "etc" / f"{file}-").unlink(missing_ok=True)
    for path in _walk(tree):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) and mode & 0o6000:
            path.chmod(mode & 0o1777)


def _walk(tree: Path) -> Iterator[Path]:
    """Everything below, folders before what is in them, ordered by name; links are not followed."""
    for folder, folders, files in os.walk(tree):
        folders.sort()
        yield from (Path(folder, name) for name in sorted([*folders, *files]))


def write_tar(tree: Path, target: Path) -> str:
    """Write the tree as a reproducible tar; returns `sha256:…` of the file."""
    fresh = tree.stat().st_ctime - 3600
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for path in _walk(tree):
            info = tar.gettarinfo(path, arcname=path.relative_to(tree).as_posix())
            if info.ischr() or info.isblk() or info.isfifo():
                continue
            info.uname = info.gname = ""
            info.mtime = EPOCH if info.isdir() or info.mtime > fresh else int(info.mtime)
            if info.isreg():
                with path.open("rb") as source:
                    tar.addfile(info, source)
            else:
                tar.addfile(info)
    with target.open("rb") as made:
        return "sha256:" + hashlib.file_digest(made, "sha256").hexdigest()
