"""`daemon.json` in each project's state folder: where to ask the daemon that keeps it.

Invariant: it is a signpost and no sign of life. A file that is damaged, a link or too large is as good as none.
"""

from __future__ import annotations

import json
import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from daemon.control.wire import WireError, from_data, to_data
from daemon.private import private_folder

if TYPE_CHECKING:
    from daemon.service.project import Project

FILE = "daemon.json"
_MOST = 64 * 1024


@dataclass(frozen=True)
class Announcement:
    """What the file says."""

    pid: int
    socket: str
    """Absolute path of the control socket."""
    started: float
    """Unix time."""
    project: str
    """`Project.name`: what this skill is called in that daemon."""
    boot: str = ""
    """`Status.boot`."""


def announce(project: Project, socket: Path, *, boot: str = "") -> None:
    """Say in the project's state folder (made where it is missing) that this process keeps it. Raises `OSError`."""
    state = project.state
    private_folder(state)
    made = state / f".{FILE}.{os.getpid()}"
    told = Announcement(os.getpid(), str(socket.absolute()), time.time(), project.name, boot)
    made.unlink(missing_ok=True)
    try:
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(json.dumps(to_data(told)) + "\n")
            out.flush()
            os.fsync(out.fileno())
        made.replace(state / FILE)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def withdraw(project: Project) -> None:
    """Take it back, unless another process has announced itself since; without one, nothing.

    In a project that was kept from another folder it stays: there stand its jobs.
    """
    told = read_announcement(project.state)
    if told is not None and told.pid == os.getpid() and Path(told.socket).parent == project.state.absolute():
        with suppress(FileNotFoundError):
            (project.state / FILE).unlink()


def read_announcement(state: Path) -> Announcement | None:
    """What the file of a state folder says, if it is one."""
    try:
        descriptor = os.open(state / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = os.read(descriptor, _MOST + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    try:
        return from_data(Announcement, json.loads(data)) if len(data) <= _MOST else None
    except (WireError, ValueError, RecursionError):
        return None
