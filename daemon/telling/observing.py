"""From the progress of one job's run to the daemon's events and canonical lines.

Invariants: what is published is metadata; its sentence and its reason are each one redacted line of bounded length.
An attempt that was read back and a decision that was replayed are published too, marked as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daemon.plain import plain
from daemon.rollouts.progress import (
    AttemptFinished,
    Event,
    Observer,
    PhaseStarted,
    RunEnded,
    RunStarted,
    SlowUpdateDecided,
    StepDecided,
)
from daemon.telling.canonical import Canonical
from daemon.telling.events import Bus, EventKind

LONGEST = 300
"""Characters of a sentence or reason."""


def job_observer(bus: Bus, project: str, job: int) -> Observer:
    """Listens to a job's run: publishes its events and writes its canonical lines, with `project` and `job` bound.

    Notify it in the job's own task: the bindings hold in there, and in the tasks that it starts.
    """
    return Both((Canonical(project=project, job=job), Publisher(bus, project, job)))


def one_line(text: str) -> str:
    """A text as one redacted line of bounded length."""
    line = plain(" ".join(text.split()))
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


@dataclass(frozen=True)
class Both:
    """Observers in order."""

    observers: Sequence[Observer]

    def notify(self, event: Event) -> None:
        """As `Observer.notify`."""
        for observer in self.observers:
            observer.notify(event)


class Publisher:
    """An `Observer` that publishes."""

    def __init__(self, bus: Bus, project: str, job: int) -> None:
        self._bus = bus
        self._project = project
        self._job = job
        self._run = ""
        self._step = 0

    def notify(self, event: Event) -> None:
        """As `Observer.notify`."""
        match event:
            case RunStarted():
                self._run, self._step = event.run_id, 0
                verb = "goes on" if event.resumed else "begins"
                sizes = {"train": event.train, "selection": event.selection, "test": event.test}
                more = {"skill": event.skill, "resumed": event.resumed, "steps": event.steps, **sizes}
                steps = "1 step" if event.steps == 1 else f"{event.steps} steps"
                self._say("run", f"run {event.run_id} {verb}: {steps}", state="started", **more)
            case PhaseStarted():
                self._step = event.step
                what = f"step {event.step}: {event.phase}" if event.step else event.phase
                self._say("phase", what, step=event.step, phase=event.phase)
            case AttemptFinished():
                self._attempt(event)
            case StepDecided():
                self._decided(event, f"step {event.step}/{event.steps}", "step", steps=event.steps, edits=event.edits)
            case SlowUpdateDecided():
                self._decided(event, f"slow update of epoch {event.epoch}", "slow_update", epoch=event.epoch)
            case RunEnded():
                reason = one_line(event.reason)
                self._say("run", f"run {event.run_id} {event.state}: {reason}", state=event.state, reason=reason)

    def _attempt(self, event: AttemptFinished) -> None:
        score = "invalid" if event.score is None else f"{event.score:.2f}"
        self._say(
            "attempt",
            f"{event.harness} on {event.task_id}: {event.outcome}, {score}{' (read back)' if event.reused else ''}",
            step=self._step,
            attempt=event.attempt_id,
            task=one_line(event.task_id),
            harness=event.harness,
            outcome=event.outcome,
            score=event.score,
            solved=event.solved,
            tokens=event.tokens,
            usd=event.usd,
            wall_s=round(event.wall_s, 3),
            reused=event.reused,
        )

    def _decided(self, event: StepDecided | SlowUpdateDecided, head: str, update: str, **more: int) -> None:
        reason = one_line(event.reason)
        self._say(
            "step",
            f"{head} {event.outcome.replace('_', ' ')}: {reason}",
            step=event.step,
            update=update,
            outcome=event.outcome,
            reason=reason,
            before=event.before,
            after=event.after,
            commits=list(event.commits),
            flagged=[one_line(flag) for flag in event.flagged],
            replayed=event.replayed,
            **more,
        )

    def _say(self, kind: EventKind, what: str, **data: Any) -> None:
        self._bus.publish(kind, one_line(what), project=self._project, job=self._job, run=self._run, **data)
