"""Score a skill as it stands, for `honed eval`. Nothing is learned and nothing is changed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from daemon.budget.purse import Purse
from daemon.journal.journal import Journal
from daemon.optimizer.gates.measure import Measured, measured
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.scoring_run import EVALUATION, scoring_run
from daemon.rollouts.result import TaskResult, paid
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.task import SealedError, Split, Task, TaskSet
from sandboxes.gateway.policy import Usage
from skills_repo.skill import Skill


@dataclass(frozen=True)
class EvaluationReport:
    """One skill on one split."""

    skill: str
    """Its name; empty for no skill."""
    digest: str
    split: Split
    metric: str
    measured: Measured
    results: tuple[TaskResult, ...]
    usage: Usage
    """Paid now: results read back cost nothing."""
    reused: int
    wall_s: float
    decisive: bool
    """Enough of the split is valid for the figure to mean something."""


async def evaluate(
    rollouts: Rollouts,
    journal: Journal,
    skill: Skill | None,
    tasks: TaskSet,
    *,
    split: Split = "selection",
    reporting: bool = False,
    rule: GateRule | None = None,
    path: str = "",
    commit: str = "",
    trial: int = 0,
    purse: Purse | None = None,
) -> EvaluationReport:
    """Score `skill` (None: no skill) as it is at `commit` on a split, under a run of its own in the journal.

    `path` is the skill's key in the journal: its path in the repository. `purse` is the one that `rollouts` ask.
    Raises `SealedError` for the test split without `reporting`, `RunStopped` if a provider or an engine is beyond help,
    and `BudgetReached`; what was scored by then is kept.
    """
    rule = rule or GateRule()
    started = time.monotonic()
    chosen = _tasks(tasks, split, reporting=reporting)
    name = skill.name if skill else ""
    async with scoring_run(journal, f"{EVALUATION}{split}", path or name, commit, purse=purse) as run_id:
        results = await rollouts.score(skill, chosen, run_id=run_id, trial=trial)
    figures = measured(results, rule)
    return EvaluationReport(
        skill=name,
        digest=skill.digest if skill else "",
        split=split,
        metric=rule.metric,
        measured=figures,
        results=results,
        usage=paid(results),
        reused=sum(result.reused for result in results),
        wall_s=time.monotonic() - started,
        decisive=rule.enough(figures.n, figures.of),
    )


def _tasks(tasks: TaskSet, split: Split, *, reporting: bool) -> Sequence[Task]:
    if split != "test":
        return tasks.split(split)
    if not reporting:
        msg = "the test split is sealed: open it to report a result, never to choose one"
        raise SealedError(msg)
    return tasks.open_test()
