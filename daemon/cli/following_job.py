"""Follows one job of a daemon to its end, with the progress lines of a run of this process.

Invariants: nothing here works on the run, and leaving changes nothing of it; what the job came to is what its row says,
events are for the eye alone.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daemon.cli.events import event_of
from daemon.cli.progress import progress
from daemon.control.client import Client, find_daemon
from daemon.control.errors import ControlError, NoDaemonError, RefusedError
from daemon.control.following import lines
from daemon.control.progress import progress_of
from daemon.jobs.job import ENDED, Job
from daemon.rollouts.progress import RunStarted
from daemon.service.desk import Explanation

if TYPE_CHECKING:
    from daemon.cli.output import Output
    from daemon.rollouts.progress import Observer
    from daemon.telling.events import DaemonEvent

SOON_S = 900.0
"""A job that begins again so soon is waited for."""
BACK_S = 60.0
"""So long a daemon that has gone is looked for: its supervisor starts it again."""
_LOUD = frozenset({"broken", "paused"})
_TOLD = _LOUD | {"published", "resumed", "config"}


@dataclass
class Follower:
    """One job; `follow` once, then read what came of it."""

    output: Output
    state: Path
    """The project's state folder."""
    client: Client
    job: Job
    after: int
    """Number of the event before the first that may be its own."""
    resumed: bool = False
    """Its run went on with an earlier one."""
    published: dict[str, Any] | None = None
    engine: str = ""
    """Where its sandboxes are."""
    kind: str = ""
    """Of the error that it failed or waits for, where the daemon says."""

    def __post_init__(self) -> None:
        self._observer: Observer = progress(self.output)

    async def follow(self) -> None:
        """Until it has ended or waits for long, over restarts of the daemon. Raises `ControlError`."""
        explained = await self._look()
        if self.job.state == "queued":
            self.output.say(f"job {self.job.number}: {explained.why}")
        gone = ""
        while True:  # what happened so far is told, even if it is over already
            try:
                if gone:
                    await self._look()
                    if self._over():
                        return
                await self._read()
                return
            except RefusedError:
                raise
            except ControlError as error:
                gone = str(error)
            await self._find_again(gone)

    def _over(self) -> bool:
        job = self.job
        waits = job.state == "queued" and job.tries > 0 and job.not_before > time.time() + SOON_S
        return job.state in ENDED or waits

    async def _read(self) -> None:
        """Events, until the job is over and its last one was told."""
        async with aclosing(lines(self.client, f"after={self.after}&follow=1")) as told:
            async for line in told:
                event = event_of(line)
                if event is not None:
                    self.after = event.number
                    self._tell(event)
                if event is None or (event.kind == "job" and event.project == self.job.project):
                    await self._look()
                    last = event is None or (event.job == self.job.number and event.data.get("state") != "running")
                    if last and self._over():
                        return
        raise ControlError("the daemon has stopped")

    async def _look(self) -> Explanation:
        """The job's row as it stands; one that another job did the work of is that one from then on."""
        number = self.job.number
        explained = await asyncio.to_thread(self.client.get, f"/jobs/{number}", "explanation", Explanation)
        self.job = explained.job
        if self.job.state == "joined":
            ended = self.job.ended or 0.0
            jobs = await asyncio.to_thread(self.client.get_all, "/jobs?newest=500", "jobs", Job)
            began = [one for one in jobs if one.project == self.job.project and (one.started or 0.0) >= ended]
            if began:
                self.job = began[0]
                self.output.say(f"job {number} joined job {self.job.number}, which does its work too")
        return explained

    def _tell(self, event: DaemonEvent) -> None:
        mine = event.job == self.job.number
        told = progress_of(event) if mine else None
        if told is not None:
            self.resumed = told.resumed if isinstance(told, RunStarted) else self.resumed
            self._observer.notify(told)
            return
        if mine and event.kind == "published":
            self.published = {name: event.data.get(name) for name in ("outcome", "reason", "url")}
        if mine and event.kind == "job":
            self.kind = str(event.data.get("error") or "")
            self.output.say(f"job {event.job} {event.what}")
        elif event.kind in _TOLD and event.project in ("", self.job.project):
            say = self.output.warn if event.kind in _LOUD else self.output.say
            say(f"{event.kind}: {event.what}")

    async def _find_again(self, reason: str) -> None:
        """Wait for the daemon to come back; raises `ControlError` if it does not."""
        number, since = self.job.number, time.monotonic()
        self.output.warn(f"{reason}; job {number} goes on when it is back: waiting for it")
        while time.monotonic() - since < BACK_S:
            try:
                self.client = await asyncio.to_thread(find_daemon, self.state)
            except NoDaemonError:
                await asyncio.sleep(0.5)
            else:
                self.after = 0  # events of another process are numbered anew
                return
        raise ControlError(f"{reason} and did not come back: job {number} goes on when it is started again")
