"""A daemon's events of a run as the progress that the run itself told: `telling/observing.py` turned round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daemon.rollouts.progress import (
    AttemptFinished,
    Event,
    PhaseStarted,
    RunEnded,
    RunStarted,
    SlowUpdateDecided,
    StepDecided,
)

if TYPE_CHECKING:
    from daemon.telling.events import DaemonEvent


def progress_of(event: DaemonEvent) -> Event | None:
    """What an `Observer` is to be told; None for an event that is no run's, or lacks what it needs."""
    make = {"run": _run, "phase": _phase, "attempt": _attempt, "step": _decided}.get(event.kind)
    if make is None:
        return None
    try:
        return make(event.data)
    except (KeyError, TypeError, ValueError):
        return None  # of another version: its sentence is told instead


def _run(data: Mapping[str, Any]) -> Event:
    if data["state"] != "started":
        return RunEnded(data["run"], data["state"], data["reason"])
    sizes = {name: int(data[name]) for name in ("steps", "train", "selection", "test")}
    return RunStarted(data["run"], data["skill"], resumed=bool(data["resumed"]), **sizes)


def _phase(data: Mapping[str, Any]) -> Event:
    return PhaseStarted(int(data["step"]), data["phase"])


def _attempt(data: Mapping[str, Any]) -> Event:
    return AttemptFinished(
        attempt_id=data["attempt"],
        task_id=data["task"],
        harness=data["harness"],
        outcome=data["outcome"],
        score=data["score"],
        solved=data["solved"],
        tokens=int(data["tokens"]),
        usd=data["usd"],
        wall_s=float(data["wall_s"]),
        reused=bool(data["reused"]),
    )


def _decided(data: Mapping[str, Any]) -> Event:
    told = {name: data[name] for name in ("outcome", "reason", "before", "after", "replayed")}
    told["flagged"] = tuple(data.get("flagged", ()))
    step, commits = int(data["step"]), tuple(data["commits"])
    if data["update"] == "slow_update":
        return SlowUpdateDecided(step=step, epoch=int(data["epoch"]), commits=commits, **told)
    return StepDecided(step=step, steps=int(data["steps"]), edits=int(data["edits"]), commits=commits, **told)
