"""The daemon's figures: which there are, and the book that holds their values.

Invariants: a label never holds the id of a task, attempt, run or commit; no metric has more than `SERIES` label sets
(further ones are counted together under `other`); adding never raises for what a label says. No global state: each
book is its own, and prometheus-client is only asked to write them down (`exposition.py`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from daemon.plain import plain

SERIES = 500
"""Label sets of one metric."""
LONGEST = 100
"""Characters of a label's value."""
OTHER = "other"


@dataclass(frozen=True)
class Metric:
    """One figure, as it is exposed."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Of a histogram: upper bounds, without infinity."""


_QUICK = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_LONG = (1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 3600.0)
_LAG = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)
_MODEL = ("provider", "model")


def _counter(name: str, text: str, *labels: str) -> Metric:
    return Metric(f"honed_{name}_total", "counter", text, labels)


def _gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric(f"honed_{name}", "gauge", text, labels)


def _histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Metric:
    return Metric(f"honed_{name}_seconds", "histogram", text, labels, buckets)


ATTEMPTS = _counter("attempts", "attempts that ended, by outcome", "project", "harness", "outcome")
REUSED = _counter("attempts_reused", "attempts whose result was read back from the journal", "project")
ATTEMPT_TIME = _histogram("attempt_duration", "wall time of attempts", _LONG, "harness")
ENGINE_ERRORS = _counter("engine_errors", "attempts that failed because of their sandbox", "project", "outcome")
VERDICTS = _counter("verdicts", "decisions of the gate on steps and slow updates", "project", "update", "outcome")
RUNS = _counter("runs", "runs that ended in this process", "project", "state")
JOBS = _counter("jobs", "jobs that ended in this process", "project", "state")
NOTICES = _counter("notices", "causes that were seen", "project", "cause")
LOOKS = _counter("looks", "looks at what stands now")
EVENTS = _counter("events", "events of the daemon", "kind")
HOOKS = _counter("hooks", "notifications by hooks: delivered, failed, dropped", "way", "result")
REQUESTS = _counter("model_requests", "requests to providers: ok, cut, or the failure's name", *_MODEL, "outcome")
REQUEST_TIME = _histogram("model_request_duration", "requests to providers with waiting and retries", _QUICK, *_MODEL)
RETRIES = _counter("model_retries", "further tries that the gateway made", *_MODEL)
TOKENS = _counter("model_tokens", "tokens, by kind: input (cached among them), cached_input, output", *_MODEL, "kind")
CIRCUIT = _gauge("circuit_open", "1: nothing but probes goes to this provider", "provider")
BUILD = _gauge("build_info", "always 1: which version runs", "version")
STATE = _gauge("state", "1 for the state that the daemon is in", "state")
READY = _gauge("ready", "1: it can work now")
STARTED = _gauge("start_time_seconds", "when this process started, as Unix time")
PAUSED = _gauge("paused", "1: nothing at all is begun")
PROJECT = _gauge("project_state", "1 for the state that a project is in", "project", "state")
QUEUE = _gauge("queued_jobs", "jobs that wait", "project")
RUNNING = _gauge("running_attempts", "attempts at this moment", "project")
SCORE = _gauge("score", "selection score after the newest run, 0 to 1", "project")
ACCEPTED = _gauge("accepted_edits", "edits accepted by all jobs so far", "project")
SPENT_USD = _gauge("budget_spent_usd", "US dollars spent today (UTC); missing where a price is unknown", "project")
SPENT_ATTEMPTS = _gauge("budget_spent_attempts", "attempts made today (UTC)", "project")
CAP_USD = _gauge("budget_cap_usd", "cap on today's US dollars; project `*`: of all together", "project")
CAP_ATTEMPTS = _gauge("budget_cap_attempts", "cap on today's attempts; project `*`: of all together", "project")
TROUBLE = _gauge("trouble", "1 for each thing that does not work now", "name", "project")
LAG = _histogram("event_loop_lag", "how late the event loop was, looked at once a second", _LAG)

METRICS: tuple[Metric, ...] = tuple(one for one in dict(globals()).values() if isinstance(one, Metric))
"""All of them, in this order."""


@dataclass
class Heap:
    """One label set of a histogram."""

    counts: list[int]
    """Of each bucket alone, the last one to infinity."""
    total: float = 0.0


@dataclass
class Book:
    """Values by metric and label values."""

    values: dict[str, dict[tuple[str, ...], float]] = field(default_factory=dict)
    heaps: dict[str, dict[tuple[str, ...], Heap]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """A counter without labels is zero from the beginning, so that its first increase shows."""
        for metric in METRICS:
            if metric.kind == "counter" and not metric.labels:
                self.add(metric, value=0)

    def add(self, metric: Metric, *labels: str, value: float = 1) -> None:
        """Count more."""
        row = self.values.setdefault(metric.name, {})
        key = _key(row, labels)
        row[key] = row.get(key, 0.0) + value

    def put(self, metric: Metric, *labels: str, value: float) -> None:
        """Say how much it is now."""
        row = self.values.setdefault(metric.name, {})
        row[_key(row, labels)] = value

    def forget(self, metric: Metric) -> None:
        """It is nothing any more, under any labels."""
        self.values.pop(metric.name, None)

    def observe(self, metric: Metric, *labels: str, value: float) -> None:
        """One more of a histogram."""
        row = self.heaps.setdefault(metric.name, {})
        heap = row.setdefault(_key(row, labels), Heap([0] * (len(metric.buckets) + 1)))
        heap.counts[bisect_left(metric.buckets, value)] += 1
        heap.total += value

    def series(self, metric: Metric) -> Iterator[tuple[tuple[str, ...], float]]:
        """The values of a counter or gauge."""
        yield from self.values.get(metric.name, {}).items()


def _key(row: Mapping[tuple[str, ...], object], labels: tuple[str, ...]) -> tuple[str, ...]:
    key = tuple(map(_label, labels))
    full = key and key not in row and len(row) >= SERIES
    return (OTHER,) * len(key) if full else key


def _label(text: str) -> str:
    """Text that may have come from anywhere as one that any reader of the page can take."""
    return plain(" ".join(text.split())).encode("utf-8", "replace").decode("utf-8")[:LONGEST]
