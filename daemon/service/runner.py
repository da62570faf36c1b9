"""One job: the same road as `honed train`, with a leash, and with circuits that all projects share.

Invariant: whatever happens in a run becomes a `JobEnd`; nothing of it reaches the daemon's loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from daemon.budget.purse import Purse
from daemon.budget.totals import Payer
from daemon.circuit.circuit import Circuit, CircuitObserver, GuardedPurse
from daemon.circuit.effects import ENGINE, Effect
from daemon.circuit.probe import Canary, probe
from daemon.housekeeping.house import keep_house
from daemon.jobs.job import Job
from daemon.kinds import kind_of
from daemon.preflight import check_optimizer, check_target
from daemon.publishing.around_run import check_publishing, publish_after
from daemon.rollouts.progress import AttemptFinished, Event, Observer
from daemon.rollouts.stop import RunStopped
from daemon.service.board import Board, BoardObserver
from daemon.service.circuits import Circuits
from daemon.service.day import DayPurse, SharedDay
from daemon.service.ended import end_of_run, ended_run
from daemon.service.ends import BEFORE_PAYING, BY_ATTEMPTS, JobEnd, end_of
from daemon.service.leash import Leash, LeashedPurse
from daemon.service.project import Project
from daemon.telling.events import Bus
from daemon.training.train import train_with
from daemon.wiring import Parts, open_parts
from harnesses.outcome import Outcome
from sandboxes.gateway.heard import Heard, unheard
from sandboxes.sandbox import SandboxError

log = structlog.get_logger(__name__)

_FRESH_S = 3600.0
"""A provider that answered so lately is not tried with a canary before a run."""


@dataclass(frozen=True)
class LogTeller:
    """A `Teller` whose sentences are log lines."""

    def say(self, line: str) -> None:
        """Log it."""
        log.info("progress", line=line)

    def warn(self, line: str) -> None:
        """Log it as a warning."""
        log.warning("notice", line=line)


def _untold(project: str, troubles: Iterable[str]) -> None:
    del project, troubles


@dataclass
class Runner:
    """Runs jobs; one object a daemon."""

    bus: Bus
    board: Board
    circuits: Circuits
    observers: Callable[[str, int], tuple[Observer, ...]] = lambda project, job: ()
    """Who else listens to a run, by project and job."""
    day: SharedDay | None = None
    """What all skills together may take today; None: as much as they like."""
    heard: Heard = unheard
    """Is told of each request to a provider."""
    over: Callable[[str, Iterable[str]], None] = _untold
    """Is told, while a run goes on, which troubles of its project it has shown to be gone."""
    clock: Callable[[], float] = time.time
    engine: str = ""
    """The engine of the newest run, and its version."""
    alone: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    """By project: whoever works in its state folder holds it, so that no job is turned away by the daemon itself."""
    _answered: dict[str, float] = field(default_factory=dict)
    """When each circuit's provider last answered (monotonic)."""

    async def run(self, project: Project, job: Job, leash: Leash) -> JobEnd:
        """Work on a job until its run ends, it is stopped, or something stands in its way."""
        with structlog.contextvars.bound_contextvars(project=project.name, job=job.number):
            try:
                return await self._train(project, job, leash)
            except asyncio.CancelledError:
                if not leash.pulled:
                    raise
                return JobEnd("cancelled" if leash.pulled == "cancel" else "queued", leash.reason)
            except Exception as error:
                return self._failed(error, project, job, leash)

    async def _train(self, project: Project, job: Job, leash: Leash) -> JobEnd:
        config, teller = project.config, LogTeller()
        circuits = self.circuits.of(config)
        if job.run_id and (ended := await ended_run(project, job.run_id)) is not None:
            await self._publish(project, job)  # it may not have come to that
            return ended
        await check_publishing(config, teller)
        observer = BoardObserver(
            self.board,
            project.name,
            (
                *self.observers(project.name, job.number),
                CircuitObserver(circuits["target"]),
                _Showing(partial(self.over, project.name)),
            ),
        )
        guard = partial(_guard, circuits=circuits, leash=leash, day=self.day, project=project.name)
        async with (
            self.alone[project.name],
            open_parts(config, observer, guard=guard, heard=self.heard, patient=True) as parts,
        ):
            if parts.engine is not None:
                self.engine = f"{parts.engine.engine} {parts.engine.version}".strip()
            report = await train_with(parts, teller, preflight=partial(self._preflight, project, circuits))
            branch = parts.history.branch
            await _clear_away(parts)
            await keep_house(parts.state, config.retention, self.clock(), journal=parts.journal)
        self._note_answers(circuits)
        await self._publish(project, job)
        return end_of_run(report, branch)

    async def _publish(self, project: Project, job: Job) -> None:
        published = await publish_after(project.config, LogTeller())
        if published["outcome"] != "off":
            what = f"{published['outcome']}: {published['reason']}"
            self.bus.publish("published", what, project=project.name, job=job.number, **published)

    async def _preflight(self, project: Project, circuits: Mapping[Payer, Circuit], parts: Parts) -> None:
        """Ask whoever has not answered for a while, or whose circuit is open, before anything is paid."""
        assert parts.optimizer_canary is not None
        canaries = {
            "target": partial(check_target, parts.canary, parts.state / "attempts"),
            "optimizer": partial(check_optimizer, parts.optimizer_canary),
        }
        for payer, circuit in circuits.items():
            answered = self._answered.get(f"{payer} {circuit.name}")
            fresh = answered is not None and time.monotonic() - answered < _FRESH_S
            if circuit.admits(time.monotonic()) and fresh:
                continue
            if circuit.admits(time.monotonic()):
                await _ask(circuit, canaries[payer])
            elif not await probe(circuit, canaries[payer]):
                raise RunStopped(circuit.reason)
            self._answered[f"{payer} {circuit.name}"] = time.monotonic()
        self.over(project.name, BEFORE_PAYING)

    def _note_answers(self, circuits: Mapping[Payer, Circuit]) -> None:
        """A run that came to its end was answered."""
        for payer, circuit in circuits.items():
            self._answered[f"{payer} {circuit.name}"] = time.monotonic()

    def _failed(self, error: Exception, project: Project, job: Job, leash: Leash) -> JobEnd:
        circuits = self.circuits.of(project.config)
        self.circuits.note_error(project.config, error)
        end = replace(end_of(error, leash, job.tries, self.clock()), error=kind_of(error))
        for payer, circuit in circuits.items():
            if circuit.reason or end.trouble == "provider":
                self._answered.pop(f"{payer} {circuit.name}", None)
        if end.fault:
            log.error("a job failed by a fault of honed", exc_info=error)
        blocked = self.circuits.blocked(project.config)
        if blocked is not None and end.state in ("queued", "failed") and not leash.pulled:
            reason, wait = blocked
            return JobEnd("queued", reason, self.clock() + wait, "provider", error="provider")
        return end


@dataclass(frozen=True)
class _Showing:
    """An `Observer`: an attempt that is scored shows that what it needed works."""

    over: Callable[[Iterable[str]], None]

    def notify(self, event: Event) -> None:
        """As `Observer.notify`."""
        if not isinstance(event, AttemptFinished) or event.reused:
            return
        if ENGINE[Outcome(event.outcome)] is Effect.ANSWERED:
            self.over(BY_ATTEMPTS)


def _guard(
    purse: Purse, *, circuits: Mapping[Payer, Circuit], leash: Leash, day: SharedDay | None, project: str
) -> Purse:
    shared = DayPurse(purse, day, project) if day else purse
    return LeashedPurse(GuardedPurse(shared, circuits), leash)


async def _clear_away(parts: Parts) -> None:
    """Boxes whose engine went away before they could be removed: the next run may be far off."""
    if parts.sandbox is None:
        return
    try:
        for name in await parts.sandbox.sweep():
            log.info("box_removed", box=name, reason="its engine had gone away")
    except SandboxError as error:
        log.warning("engine_not_seen", error=str(error))


async def _ask(circuit: Circuit, canary: Canary) -> None:
    """A canary while the circuit is closed; a provider's refusal of an agent counts as an attempt's would."""
    try:
        await canary()
    except RunStopped as stop:
        if stop.outcome is not None:
            circuit.note(stop.outcome, time.monotonic(), str(stop))
        raise
