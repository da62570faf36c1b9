"""Whole runs in worlds where every edit is a no-op: what a gate accepts all the same, and what it then believes.

Every accepted step is a false one, and every point that the selection score rises is luck that was kept.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import structlog

from tests.worlds.make import make_idle_world
from tests.worlds.runs import run_world

STEPS: Mapping[str, Any] = {"epochs": 4, "batch": 8, "minibatch": 4, "slow_update": "off", "meta_skill": False}
"""16 steps over 32 train tasks."""


@dataclass(frozen=True)
class Idle:
    """One run."""

    judged: int
    """Steps that came to a gate."""
    accepted: int
    """Of them, those that it accepted."""
    bias: float
    """Reported minus true score of the skill that ships, on the selection split."""
    attempts: int


def idle_run(seed: int, train: Mapping[str, Any], selection: int = 24) -> Idle:
    """Sixteen no-op steps."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    world = make_idle_world(seed, {"train": 32, "selection": selection, "test": 4})
    outcome = run_world(world, **{**STEPS, **train})
    report = outcome.report
    after = report.selection.after
    return Idle(
        judged=sum(step.verdict is not None for step in report.steps),
        accepted=sum(step.outcome == "accepted" for step in report.steps),
        bias=(after.score if after and after.score is not None else math.nan) - outcome.true_selection,
        attempts=report.attempts,
    )


def idle_runs(seeds: Sequence[int], train: Mapping[str, Any], *, processes: int | None = None) -> list[Idle]:
    """In order of the seeds; shared out over processes."""
    with ProcessPoolExecutor(processes or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        return list(pool.map(idle_run, seeds, [train] * len(seeds)))
