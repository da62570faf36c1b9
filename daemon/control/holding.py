"""Who holds a state directory, where it is a daemon: what it works on there, and what lets others in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from daemon.control.announcing import read_announcement
from daemon.control.client import find_daemon
from daemon.control.errors import ControlError
from daemon.service.desk import Status

if TYPE_CHECKING:
    from pathlib import Path

_PATIENCE_S = 2.0


def daemon_that_holds(state: Path, pid: int | None) -> str:
    """A clause and the remedy, if the process of that id is a daemon; empty for any other (and this very one). Blocks.

    `the honed daemon (process 7), which works on job 3 there (…)`.
    """
    told = read_announcement(state)
    if told is None or pid != told.pid or pid == os.getpid():
        return ""
    who = f"the honed daemon (process {pid})"
    try:
        status = find_daemon(state, _PATIENCE_S).get("/status", "status", Status)
    except ControlError:
        return f"{who} (wait for it; `honed status` says what it does)"
    job = next((one.progress.job for one in status.projects if one.name == told.project and one.progress), None)
    if job is None:
        return f"{who} (`honed status` says what it does)"
    return (
        f"{who}, which works on job {job.number} (`honed pause {told.project}` lets its attempts end, and "
        f"`honed resume {told.project}` goes on afterwards; `honed cancel {job.number}` ends the job)"
    )
