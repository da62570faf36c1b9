"""What a run will take, from its plan and the journal's averages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from daemon.budget.averages import averages
from daemon.budget.estimate import Estimate
from daemon.budget.plan import plan_run
from daemon.wiring import models_of

if TYPE_CHECKING:
    from daemon.config import Config
    from daemon.journal.journal import Journal
    from daemon.tasks.task import TaskSet


async def estimate_of(config: Config, tasks: TaskSet, journal: Journal | None) -> Estimate:
    """The estimate of a whole run; without a journal there are no averages."""
    models = models_of(config, config.target)
    target, optimizer = await averages(journal, config.target.harness, models) if journal else (None, None)
    plan = plan_run(config.train, tasks.sizes())
    return Estimate(plan, target, optimizer, config.sandbox.workers, config.budget)
