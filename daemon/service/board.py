"""What runs at this moment, gathered from what running jobs say; nothing decides on it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from daemon.jobs.job import Job
from daemon.rollouts.progress import (
    AttemptFinished,
    AttemptStarted,
    Event,
    Observer,
    PhaseStarted,
    RunStarted,
    StepDecided,
)
from daemon.service.desk import Progress


class Board:
    """The progress of each project whose job runs."""

    def __init__(self) -> None:
        self._now: dict[str, Progress] = {}

    def begin(self, job: Job) -> None:
        """A job runs from now on."""
        self._now[job.project] = Progress(job)

    def end(self, project: str) -> None:
        """It runs no more."""
        self._now.pop(project, None)

    def progress(self, project: str) -> Progress | None:
        """Of a project's job, if one runs."""
        return self._now.get(project)

    def note(self, project: str, event: Event) -> None:
        """Take what a run says."""
        found = self._now.get(project)
        if found is not None:
            self._now[project] = _after(found, event)


@dataclass(frozen=True)
class BoardObserver:
    """An `Observer` that writes on the board and passes on."""

    board: Board
    project: str
    others: tuple[Observer, ...] = ()

    def notify(self, event: Event) -> None:
        """As `Observer.notify`."""
        self.board.note(self.project, event)
        for other in self.others:
            other.notify(event)


def _after(found: Progress, event: Event) -> Progress:
    match event:
        case RunStarted():
            return replace(found, run_id=event.run_id, steps=event.steps)
        case PhaseStarted():
            return replace(found, phase=event.phase, step=event.step or found.step)
        case AttemptStarted():
            return replace(found, running=found.running + 1)
        case AttemptFinished(reused=False):
            return replace(found, attempts=found.attempts + 1, running=max(0, found.running - 1))
        case StepDecided():
            return replace(found, step=event.step, steps=event.steps)
    return found
