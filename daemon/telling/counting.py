"""What happens and what stands, put into the book of metrics.

Invariants: what was read back from the journal or replayed after a restart is not counted again; every counter counts
since this process began.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from daemon.jobs.job import ENDED
from daemon.service.desk import ProjectStatus, Status
from daemon.telling import metrics
from daemon.telling.events import DaemonEvent
from daemon.telling.metrics import Book
from harnesses.outcome import Outcome
from sandboxes.gateway.heard import Answered

ENGINE: frozenset[str] = frozenset(
    {Outcome.SANDBOX_LOST, Outcome.SANDBOX_KILLED, Outcome.SANDBOX_START, Outcome.OUT_OF_MEMORY}
)
"""Outcomes that are the sandbox's."""
ALL = "*"
"""The project's name in figures of all together."""


@dataclass
class Counting:
    """Counts events of the bus and requests to providers."""

    book: Book = field(default_factory=Book)

    def notice(self, event: DaemonEvent) -> None:
        """A listener of the bus; `data` is what `observing.py` and the daemon's service publish."""
        self.book.add(metrics.EVENTS, event.kind)
        data, project = event.data, event.project
        match event.kind:
            case "attempt":
                self._attempt(event)
            case "step" if not data.get("replayed"):
                self.book.add(metrics.VERDICTS, project, str(data.get("update")), str(data.get("outcome")))
            case "run" if data.get("state") != "started":
                self.book.add(metrics.RUNS, project, str(data.get("state")))
            case "job" if data.get("state") in ENDED:
                self.book.add(metrics.JOBS, project, str(data.get("state")))
            case "noticed":
                self.book.add(metrics.NOTICES, project, str(data.get("cause", "")))

    def _attempt(self, event: DaemonEvent) -> None:
        data, project = event.data, event.project
        if data.get("reused"):
            self.book.add(metrics.REUSED, project)
            return
        harness, outcome = str(data.get("harness", "")), str(data.get("outcome", ""))
        self.book.add(metrics.ATTEMPTS, project, harness, outcome)
        self.book.observe(metrics.ATTEMPT_TIME, harness, value=float(data.get("wall_s") or 0.0))
        if outcome in ENGINE:
            self.book.add(metrics.ENGINE_ERRORS, project, outcome)

    def heard(self, answered: Answered) -> None:
        """Takes requests to providers (`sandboxes.gateway.heard.Heard`)."""
        who = (answered.provider, answered.model)
        usage = answered.usage
        self.book.add(metrics.REQUESTS, *who, answered.outcome)
        self.book.observe(metrics.REQUEST_TIME, *who, value=answered.seconds)
        self.book.add(metrics.RETRIES, *who, value=answered.retries)
        for kind, tokens in (
            ("input", usage.input_tokens),
            ("cached_input", usage.cached_input_tokens),
            ("output", usage.output_tokens),
        ):
            self.book.add(metrics.TOKENS, *who, kind, value=tokens)

    def stand(self, status: Status, *, ready: bool) -> None:
        """Put what stands now in the place of what stood."""
        book = self.book
        for metric in _STANDING:
            book.forget(metric)
        book.put(metrics.LOOKS, value=status.looks)
        book.put(metrics.BUILD, status.version, value=1)
        book.put(metrics.STATE, status.state, value=1)
        book.put(metrics.READY, value=float(ready))
        book.put(metrics.STARTED, value=status.started)
        book.put(metrics.PAUSED, value=float(bool(status.paused)))
        for circuit in status.circuits:
            book.put(metrics.CIRCUIT, circuit.provider, value=float(circuit.phase != "closed"))
        for trouble in status.troubles:
            book.put(metrics.TROUBLE, trouble.name, trouble.project, value=1)
        for project in status.projects:
            self._project(project)
        self._caps(ALL, status.cap_today_usd, status.cap_today_attempts)

    def _project(self, project: ProjectStatus) -> None:
        book, name, progress = self.book, project.name, project.progress
        book.put(metrics.PROJECT, name, project.state, value=1)
        book.put(metrics.QUEUE, name, value=len(project.queued))
        book.put(metrics.RUNNING, name, value=progress.running if progress else 0)
        if project.score is not None:
            book.put(metrics.SCORE, name, value=project.score)
        book.put(metrics.ACCEPTED, name, value=project.accepted)
        if project.spent_today_usd is not None:
            book.put(metrics.SPENT_USD, name, value=project.spent_today_usd)
        book.put(metrics.SPENT_ATTEMPTS, name, value=project.attempts_today)
        self._caps(name, project.cap_today_usd, project.cap_today_attempts)

    def _caps(self, name: str, usd: float | None, attempts: int | None) -> None:
        for metric, cap in ((metrics.CAP_USD, usd), (metrics.CAP_ATTEMPTS, attempts)):
            if cap is not None:
                self.book.put(metric, name, value=cap)


_STANDING = tuple(one for one in metrics.METRICS if one.kind == "gauge")
