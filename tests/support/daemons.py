"""A real `honed daemon` as a process: started, asked over its control socket, told to stop, killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from daemon.control.address import SOCKET_NAME
from daemon.control.client import Client
from daemon.control.errors import ControlError
from daemon.jobs.job import ENDED, Job
from daemon.service.desk import ProjectStatus, Status
from tests.support.forked import Forked
from tests.support.honed_cli import HONED, LIMIT_S, environment


class Daemon:
    """One process. Everything waits for what it looks for, at most `LIMIT_S`.

    It is forked, as that is quick; with `through` it is started as people do, by these words (none: by itself).
    """

    def __init__(
        self, folder: Path, *, env: dict[str, str] | None = None, through: tuple[str, ...] | None = None
    ) -> None:
        self.folder = folder
        self.log = folder.parent / f"{folder.name}.daemon.log"
        with self.log.open("ab") as log:
            self.process = self._started(environment() if env is None else env, through, log)
        try:
            self.until(self.answers, "it answers")
        except BaseException:  # nobody has it to end it
            if self.process.poll() is None:
                self.end(signal.SIGKILL)
            raise

    def _started(
        self, env: dict[str, str], through: tuple[str, ...] | None, log: IO[bytes]
    ) -> Forked | subprocess.Popen[bytes]:
        command: list[str | Path] = [*(through or ()), HONED, "--log-json", "daemon"]
        with Path(os.devnull).open("r+b") as nothing:
            if through is None:
                return Forked(command, cwd=self.folder, env=env, stdout=nothing, stderr=log)
            return subprocess.Popen(command, cwd=self.folder, env=env, stdin=nothing, stdout=nothing, stderr=log)

    @property
    def client(self) -> Client:
        """Its control socket."""
        return Client(self.folder / ".honed" / SOCKET_NAME)

    def answers(self) -> bool:
        """The socket is there, and this process behind it."""
        try:
            return self.status().pid == self.process.pid
        except ControlError:
            return False

    def status(self) -> Status:
        """All of it."""
        return self.client.get("/status", "status", Status)

    def project(self, name: str = "") -> ProjectStatus:
        """One project's; of the only one without a name."""
        found = [one for one in self.status().projects if name in ("", one.name)]
        assert len(found) == 1, found
        return found[0]

    def jobs(self) -> tuple[Job, ...]:
        """Every job."""
        return self.client.get_all("/jobs?newest=500", "jobs", Job)

    def settled(self) -> bool:
        """Every job has ended, and something was done at all."""
        jobs = self.jobs()
        return bool(jobs) and all(job.state in ENDED for job in jobs)

    def until(self, holds: Callable[[], bool], what: str, limit_s: float = LIMIT_S) -> None:
        """Wait until something holds; a daemon that has ended by itself is a failure."""
        limit = time.monotonic() + limit_s
        while not holds():
            assert self.process.poll() is None, f"the daemon ended: {self.tail()}"
            assert time.monotonic() < limit, f"it did not come to that: {what}: {self.tail()}"
            time.sleep(0.02)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; returns the exit code."""
        os.kill(self.process.pid, number)
        return self.process.wait(LIMIT_S)

    def lines(self) -> list[dict[str, Any]]:
        """What it logged."""
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines() if line.startswith("{")]

    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text("utf-8")[-3000:]


@contextmanager
def daemon(
    folder: Path, *, env: dict[str, str] | None = None, through: tuple[str, ...] | None = None
) -> Iterator[Daemon]:
    """A daemon for a while; it is killed if a test did not end it."""
    one = Daemon(folder, env=env, through=through)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)
