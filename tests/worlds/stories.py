"""What must be the same of two runs of the same world, and the configurations it must be the same under."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daemon.config_train import TrainSection
from daemon.optimizer.report import RunReport
from tests.support.optimizer import MortalJournal
from tests.worlds.make import Shape, make_world
from tests.worlds.runs import Bench, Inline

MODES: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": {"mode": "paper"},
    "strict": {"gate": "strict"},
    "no gate": {"gate": "off"},
    "forced": {"slow_update": "forced"},
    "suggestions": {"update_mode": "suggestions"},
    "rewrite": {"update_mode": "rewrite"},
    "accumulation": {"accumulation": 2},
    "attribution": {"attribution": True},
    "autonomous": {"schedule": "autonomous"},
    "unbounded": {"schedule": "unbounded"},
    "soft": {"gate_metric": "soft"},
    "no memory": {"rejected_buffer": False, "slow_update": "off", "meta_skill": False},
}
"""Every part of the method is on in one of these, and off in another."""

TINY = Shape(
    {"train": 4, "selection": 6, "test": 2},
    areas=1,
    plain_causes=1,
    answers={"helpful": 2, "useless": 1, "harmful": 1},
    deep_share=0.6,
    odds=(0.0, 0.2),
)
SMALL = Shape({"train": 16, "selection": 12, "test": 8}, areas=4, odds=(0.2, 0.6))

SEEDS = {1: 8, 4: 0}
"""By number of areas: seeds of worlds in which most modes accept a step, reject one and write guidance."""


def bench(folder: Path, shape: Shape, mode: str, *, workers: int = 2, chaos: int | None = None) -> Bench:
    """A world under one of the configurations, with random delays if `chaos` seeds them."""
    asyncio.get_running_loop().set_default_executor(Inline(1))
    size = {"epochs": 2, "batch": 2, "minibatch": 1} if shape is TINY else {"epochs": 3, "batch": 4, "minibatch": 2}
    samples = {"slow_update_samples": 4, "merge_batch": 2}
    made = Bench(
        make_world(SEEDS[shape.areas], shape), folder, TrainSection.model_validate({**size, **samples, **MODES[mode]})
    )
    made.workers = workers
    made.knobs = {"optimizer_workers": max(1, workers // 2)}
    if chaos is not None:
        made.agent.chaos, made.client.chaos = random.Random(chaos), random.Random(chaos + 1)
    return made


async def story(made: Bench, report: RunReport) -> dict[str, Any]:
    """Everything that must be the same: decisions, commits with their messages and texts, figures, costs of asking."""
    journal = made.journal.inner if isinstance(made.journal, MortalJournal) else made.journal
    return {
        "run": report.run_id,
        "decisions": await journal.decisions(report.run_id),
        "commits": report.commits,
        "log": await made.history.log(1_000),
        "texts": [(await made.history.read(commit)).text for commit in report.commits],
        "best": report.best_digest,
        "selection": report.selection,
        "test": report.test,
        "edits": report.edits,
        "ended": report.ended,
        "optimizer": report.optimizer_usage,
    }
