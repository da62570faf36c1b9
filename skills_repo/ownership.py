"""What root writes into another user's repository is given to that user.

A sidecar often runs as root in a container, on a repository that somebody mounts. A folder of root's below `objects/`,
or a reflog of root's, would keep that person's own git from going on. Invariant: only what is root's below the git
folder's `objects`, `refs` and `logs` changes hands, links are not followed, and nothing happens for anybody but root.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import structlog

PLACES = ("objects", "refs", "logs")
log = structlog.get_logger(__name__)


def is_of_another(folder: Path) -> bool:
    """Whether root is at work in a folder that is not root's."""
    return os.geteuid() == 0 and folder.stat().st_uid != 0


def hand_over(git_folder: Path) -> None:
    """Give what is root's in a git folder (the common one) to whom the folder belongs to."""
    owner = git_folder.stat()
    try:
        for place in PLACES:
            for folder, _, names in os.walk(git_folder / place):
                for path in (Path(folder), *(Path(folder, name) for name in names)):
                    with suppress(FileNotFoundError):  # somebody's git tidies up
                        _give(path, owner)
    except PermissionError as error:  # a root without its rights; what was to be written is written
        log.warning("files of root's stay in the repository", action="hand_over", file=error.filename)


def _give(path: Path, owner: os.stat_result) -> None:
    if path.lstat().st_uid == 0:
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
