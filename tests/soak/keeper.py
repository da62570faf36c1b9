"""Whoever looks after the daemon of a soak: starts it, kills it, starts it again, and measures it from outside."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from daemon.control.errors import ControlError
from daemon.service.desk import Status
from tests.support.daemons import Daemon
from tests.support.honed_cli import environment

MARK = "HONED_SOAKMARK"
"""In the environment of the daemon and so of all that it starts, so that what is left of it can be found."""


@dataclass(frozen=True)
class Gauge:
    """One look at the daemon's process."""

    rss_mb: float
    descriptors: int
    threads: int


@dataclass
class Keeper:
    """One daemon after the other in the same folder."""

    folder: Path
    temp: Path
    """Its `TMPDIR`, which it has for itself."""
    docker: str = ""
    """Address of the engine; empty: the machine's, which then nothing needs."""
    starts: int = 0
    kills: int = 0
    terms: int = 0
    daemon: Daemon | None = None
    bad_exits: list[str] = field(default_factory=list)

    @property
    def one(self) -> Daemon:
        """The daemon that runs."""
        assert self.daemon is not None, "no daemon runs"
        return self.daemon

    def start(self) -> None:
        """A new one; raises `AssertionError` with its log if it does not come up."""
        self.temp.mkdir(exist_ok=True)
        more = {"TMPDIR": str(self.temp), MARK: str(self.temp)} | ({"DOCKER_HOST": self.docker} if self.docker else {})
        self.daemon = Daemon(self.folder, env=environment(**more), through=())
        self.starts += 1

    def kill(self) -> None:
        """`kill -9`."""
        self.one.end(signal.SIGKILL)
        self.kills += 1
        self.daemon = None

    def term(self) -> None:
        """SIGTERM: it drains."""
        code = self.one.end()
        if code != 0:
            self.bad_exits.append(f"exit code {code} after SIGTERM")
        self.terms += 1
        self.daemon = None

    def alive(self) -> bool:
        """It has not ended by itself; if so, that is remembered, and another one may be started."""
        if self.daemon is not None and self.daemon.process.poll() is not None:
            self.bad_exits.append(f"ended by itself with {self.daemon.process.returncode}: {self.daemon.tail()[-600:]}")
            self.daemon = None
        return self.daemon is not None

    def status(self) -> Status | None:
        """None: it does not answer now."""
        try:
            return self.one.status()
        except ControlError:
            return None

    def open_jobs(self) -> int:
        """Jobs that run or wait; read beside the daemon."""
        path = self.folder / ".honed" / "daemon.sqlite"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as store:
            query = "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"
            count: int = store.execute(query).fetchone()[0]
        return count

    def gauge(self) -> Gauge:
        """Its memory, descriptors and threads."""
        proc = Path(f"/proc/{self.one.process.pid}")
        rows = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
        rss = int(rows["VmRSS"].split()[0]) / 1024
        return Gauge(rss, len(list((proc / "fd").iterdir())), int(rows["Threads"]))

    def cpu_s(self) -> float:
        """Processor time of the process and of its children that have ended."""
        stat = Path(f"/proc/{self.one.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, stat[11:15])) / os.sysconf("SC_CLK_TCK")

    def left(self, wait_s: float = 5.0) -> list[str]:
        """Processes that any of its daemons started and that still run."""
        limit = time.monotonic() + wait_s
        while (found := self._marked()) and time.monotonic() < limit:
            time.sleep(0.1)
        return found

    def _marked(self) -> list[str]:
        return marked(self.temp, but=self.daemon.process.pid if self.daemon else -1)


def marked(temp: Path, *, but: int = -1) -> list[str]:
    """Processes that a daemon with this folder for temporary files started, and that still run."""
    mark = f"{MARK}={temp}".encode()
    found = []
    for proc in Path("/proc").iterdir():
        if not proc.name.isdigit() or int(proc.name) == but:
            continue
        try:
            if mark in (proc / "environ").read_bytes().split(b"\0"):
                found.append(f"{proc.name}: {(proc / 'cmdline').read_bytes().decode(errors='replace')}")
        except OSError:
            continue  # it has ended meanwhile, or is nobody of ours
    return found
