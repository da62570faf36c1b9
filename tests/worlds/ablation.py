"""Switch one part of the method off, in the same worlds, and see what the skill that ships is worth."""

from __future__ import annotations

import logging
import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import structlog

from tests.worlds.lore import said
from tests.worlds.make import RICH, Shape, make_world
from tests.worlds.runs import run_world
from tests.worlds.world import kind

Say = Callable[[str], None]
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "no_gate": {"gate": "off"},
    "no_buffer": {"rejected_buffer": False, "refuse_rejected": False},
    "no_budget": {"schedule": "unbounded"},
    "no_slow_update": {"slow_update": "off"},
    "no_meta_skill": {"meta_skill": False},
}


@dataclass(frozen=True)
class Figures:
    """One run in one world."""

    before: float
    """Expected score of the initial skill on the sealed test split."""
    after: float
    """Expected score of the skill that ships on the sealed test split."""
    measured: float
    """What the sealed test measured of it."""
    claimed: float
    """What the gate said of it on the selection split, at the end."""
    selection: float
    """What is true of it on the selection split."""
    accepted: int
    """Steps that changed the skill."""
    helpful: int
    harmful: int
    useless: int
    chars: int
    attempts: int


def figures(seed: int, train: Mapping[str, Any], shape: Shape = RICH) -> Figures:
    """Run one world."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    world = make_world(seed, shape)
    outcome = run_world(world, **train)
    rules = [rule for rule_id in said(outcome.skill.text) if (rule := world.lore.rule(rule_id))]
    kinds = [kind(world, rule) for rule in rules]
    after = outcome.report.selection.after
    return Figures(
        before=outcome.true_before,
        after=outcome.true_after,
        measured=outcome.sealed,
        claimed=after.score if after and after.score is not None else math.nan,
        selection=outcome.true_selection,
        accepted=sum(step.outcome == "accepted" for step in outcome.report.steps),
        helpful=kinds.count("helpful"),
        harmful=kinds.count("harmful"),
        useless=kinds.count("useless"),
        chars=len(outcome.skill.text),
        attempts=outcome.report.attempts,
    )


def all_figures(
    runs: Mapping[str, Mapping[str, Any]],
    seeds: Sequence[int],
    shape: Shape = RICH,
    *,
    processes: int | None = None,
    say: Say = lambda line: None,
) -> dict[str, list[Figures]]:
    """The figures of each configuration (`[train]` keys by name), in order of the seeds; shared out over processes."""
    with ProcessPoolExecutor(processes or os.cpu_count(), mp_context=get_context("spawn")) as pool:
        waiting = {name: [pool.submit(figures, seed, train, shape) for seed in seeds] for name, train in runs.items()}
        made: dict[str, list[Figures]] = {}
        for name, futures in waiting.items():
            made[name] = [future.result() for future in futures]
            say(f"{name}: {statistics.fmean(row.after for row in made[name]):.3f}")
    return made


@dataclass(frozen=True)
class Difference:
    """What an ablation costs, over the same worlds."""

    mean: float
    """Test score with the part minus test score without it."""
    error: float
    """Its standard error over the worlds."""


def difference(with_it: Sequence[Figures], without: Sequence[Figures]) -> Difference:
    """In pairs, world by world."""
    deltas = [a.after - b.after for a, b in zip(with_it, without, strict=True)]
    return Difference(statistics.fmean(deltas), statistics.stdev(deltas) / math.sqrt(len(deltas)))
