"""Renders progress on stderr: lines for a person who waits, log lines for a machine.

The canonical log line of an attempt is the rollouts' own, those of steps and runs are `telling/canonical.py`'s.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import structlog
from rich.text import Text

from daemon.logs import for_machines
from daemon.optimizer.wording import counted
from daemon.plain import plain
from daemon.rollouts.progress import (
    AttemptFinished,
    AttemptStarted,
    Event,
    Observer,
    PhaseStarted,
    RunEnded,
    RunStarted,
    SlowUpdateDecided,
    StepDecided,
)
from daemon.telling.canonical import Canonical

if TYPE_CHECKING:
    from daemon.cli.output import Output

log = structlog.get_logger(__name__)

_STYLES = {"accepted": "bold green", "rejected": "red"}


def progress(output: Output) -> Observer:
    """The observer that fits whoever reads stderr."""
    return ProgressLog() if for_machines() else ProgressLines(output)


class ProgressLog:
    """An `Observer` that logs phases, and each step and run in one line."""

    def __init__(self) -> None:
        self._canonical = Canonical()

    def notify(self, event: Event) -> None:
        """Log it, if it deserves a line."""
        self._canonical.notify(event)
        if isinstance(event, RunStarted | PhaseStarted):
            log.info(type(event).__name__, **asdict(event))


class ProgressLines:
    """An `Observer` that prints as things happen."""

    def __init__(self, output: Output) -> None:
        self._console = output.progress
        self._started = time.monotonic()
        self._running: int | None = None
        """Not known before the first start is told: a daemon's events tell of ends alone."""
        self._done = 0
        self._steps: dict[int, str] = {}
        """Outcome by step, those decided before a restart among them."""
        self._of = 0

    def notify(self, event: Event) -> None:
        """Print one line for the event, if it deserves one."""
        match event:
            case RunStarted():
                self._run_started(event)
            case PhaseStarted():
                step = f"step {event.step} · " if event.step else ""
                self._line(Text(f"{step}{event.phase}{' · ' + event.detail if event.detail else ''}", style="cyan"))
            case AttemptStarted():
                self._running = (self._running or 0) + 1
            case AttemptFinished():
                self._finished(event)
            case StepDecided():
                self._steps[event.step] = event.outcome
                self._decided(event, f"step {event.step}/{event.steps}")
            case SlowUpdateDecided():
                self._decided(event, f"slow update of epoch {event.epoch}")
            case RunEnded():
                # Why a budget stopped it is the verb's last line already.
                reason = self._so_far() if event.state == "stopped" else plain(event.reason)
                self._line(Text(f"run {event.run_id} {event.state}: {reason}", style="bold"))

    def _run_started(self, event: RunStarted) -> None:
        self._of = event.steps
        verb = "goes on" if event.resumed else "begins"
        sizes = f"train {event.train}, selection {event.selection}, test {event.test} (sealed)"
        self._line(Text(f"run {event.run_id} {verb}: {event.skill}, {event.steps} steps, {sizes}", style="bold"))

    def _so_far(self) -> str:
        accepted = sum(outcome == "accepted" for outcome in self._steps.values())
        return f"{len(self._steps)} of {counted(self._of, 'step')} done, {accepted} accepted: see `honed show latest`"

    def _finished(self, event: AttemptFinished) -> None:
        self._done += 1
        if not event.reused and self._running is not None:
            self._running = max(0, self._running - 1)
        score = "invalid" if event.score is None else f"{event.score:.2f}"
        style = "yellow" if event.score is None else ("green" if event.solved else "red")
        usd = "" if not event.usd else f" ${event.usd:.4f}"
        how = "read back" if event.reused else f"{event.tokens:,} tokens{usd} {event.wall_s:.1f} s"
        line = Text.assemble(
            f"  {event.task_id:<24.24} {event.harness:<12} {event.outcome:<18} ",
            (f"{score:<8}", style),
            (how if self._running is None else f"{how}  ({self._running} running)", "dim"),
        )
        if event.detail and event.score is None:
            line.append(f"\n    {plain(event.detail)[:400]}", style="yellow")
        self._line(line)

    def _decided(self, event: StepDecided | SlowUpdateDecided, what: str) -> None:
        scores = "" if event.before is None or event.after is None else f" {event.before:.3f} -> {event.after:.3f}"
        again = " (decided before the restart)" if event.replayed else ""
        head = f"{what} {event.outcome.replace('_', ' ')}{scores}{again}: "
        self._line(Text.assemble((head, _STYLES.get(event.outcome, "yellow")), plain(event.reason)))
        if event.flagged and event.outcome == "accepted":
            self._line(Text(f"look at it before an agent does: {plain('; '.join(event.flagged))}", style="yellow"))

    def _line(self, text: Text) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._started), 60)
        self._console.print(Text.assemble((f"{minutes:02d}:{seconds:02d} ", "dim"), text))
