"""Events of the bus as OpenTelemetry spans: run > step > attempt, with durations, outcomes and figures.

Invariants: no text but names of outcomes, phases and harnesses, ids, and where the skill is; a span that was opened is
ended, at the latest with its job or the daemon; what was read back or replayed is no span.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opentelemetry import trace
from opentelemetry.trace import Span, StatusCode, Tracer

from daemon.telling.events import DaemonEvent
from harnesses.outcome import POLICIES

_SCORED = frozenset(outcome.value for outcome, policy in POLICIES.items() if policy.scored)
_RUN = ("skill", "resumed", "steps", "train", "selection", "test")
_STEP = ("outcome", "before", "after", "edits", "epoch")
_ATTEMPT = ("attempt", "harness", "outcome", "score", "solved", "tokens", "usd")


@dataclass
class _Open:
    """What is open of one job."""

    run: Span
    step: Span | None = None
    number: int = 0
    decided: int = 0
    """The newest step that came to its decision: what follows under its number is another update's."""


@dataclass
class Spans:
    """A listener of the bus."""

    tracer: Tracer
    _open: dict[tuple[str, int | None], _Open] = field(default_factory=dict)

    def notice(self, event: DaemonEvent) -> None:
        """Open and end spans."""
        key = (event.project, event.job)
        match event.kind:
            case "run" if event.data.get("state") == "started":
                self._end_run(key, event.time, "cut off")
                self._open[key] = _Open(self._start("run", event, None, event.time, _RUN))
            case "run":
                self._end_run(key, event.time, str(event.data.get("state")))
            case "phase" if key in self._open:
                self._phase(self._open[key], event)
            case "step" if key in self._open:
                self._decided(self._open[key], event)
            case "attempt" if not event.data.get("reused"):
                self._attempt(self._open.get(key), event)
            case "job" if event.data.get("state") != "running":
                self._end_run(key, event.time, "cut off")

    def close(self, now: float) -> None:
        """End whatever is open; `now` is Unix time."""
        for key in tuple(self._open):
            self._end_run(key, now, "cut off")

    def _phase(self, job: _Open, event: DaemonEvent) -> None:
        number = int(event.data.get("step") or 0)
        if job.step is not None and number != job.number:
            self._end_step(job, event.time)
        if job.step is None and number:
            name = "step" if number > job.decided else str(event.data.get("phase"))
            job.step, job.number = self._start(name, event, job.run, event.time, ("step",)), number

    def _decided(self, job: _Open, event: DaemonEvent) -> None:
        if job.step is not None:
            job.step.set_attributes(_attributes(event.data, _STEP))
            self._end_step(job, event.time)
        job.decided = int(event.data.get("step") or 0)

    def _attempt(self, job: _Open | None, event: DaemonEvent) -> None:
        parent = (job.step or job.run) if job else None
        began = event.time - float(event.data.get("wall_s") or 0.0)
        span = self._start("attempt", event, parent, began, _ATTEMPT)
        if event.data.get("outcome") not in _SCORED:
            span.set_status(StatusCode.ERROR)
        span.end(_ns(event.time))

    def _end_step(self, job: _Open, now: float) -> None:
        if job.step is not None:
            job.step.end(_ns(now))
        job.step = None

    def _end_run(self, key: tuple[str, int | None], now: float, state: str) -> None:
        job = self._open.pop(key, None)
        if job is None:
            return
        self._end_step(job, now)
        job.run.set_attribute("honed.state", state)
        if state in ("failed", "cut off"):
            job.run.set_status(StatusCode.ERROR)
        job.run.end(_ns(now))

    def _start(self, name: str, event: DaemonEvent, parent: Span | None, began: float, keys: tuple[str, ...]) -> Span:
        context = None if parent is None else trace.set_span_in_context(parent)
        attributes = {"honed.project": event.project, **_attributes(event.data, ("run", *keys))}
        if event.job is not None:
            attributes["honed.job"] = event.job
        return self.tracer.start_span(name, context, attributes=attributes, start_time=_ns(began))


def _attributes(data: Mapping[str, object], keys: tuple[str, ...]) -> dict[str, str | int | float | bool]:
    found = ((key, data.get(key)) for key in keys)
    return {f"honed.{key}": value for key, value in found if isinstance(value, str | int | float | bool)}


def _ns(seconds: float) -> int:
    return int(seconds * 1e9)
