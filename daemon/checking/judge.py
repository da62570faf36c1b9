"""The gate, turned round: a change lowers the score where the gate would keep the old skill over the new one.

Invariants: the gate's rule, trials and error hold, so a change that changes nothing is called worse at most as often as
an edit that changes nothing would be kept; a protected task that breaks is a loss whatever the rest says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from daemon.budget.purse import Purse
from daemon.config_train import TrainSection
from daemon.journal.journal import Journal
from daemon.optimizer.gates.gate import make_gate
from daemon.optimizer.gates.measure import Selection
from daemon.optimizer.gates.rule import GateRule
from daemon.optimizer.gates.verdict import Pool, TaskRow, Verdict
from daemon.optimizer.scoring_run import EVALUATION, scoring_run
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.task import TaskSet
from skills_repo.skill import Skill

Finding = Literal["lower", "not_lower", "unchanged", "new", "indecisive"]


@dataclass(frozen=True)
class CheckReport:
    """What a change does to the score on the selection split. `before` is the old skill, `after` the changed one."""

    finding: Finding
    reason: str
    """In words."""
    before: float | None = None
    """None where it was not measured: the changed skill scores all that there is to be scored."""
    after: float | None = None
    delta: float | None = None
    standard_error: float | None = None
    tasks: int = 0
    """With a score under both."""
    of: int = 0
    """Asked."""
    before_trials: int = 0
    after_trials: int = 0
    fixed: tuple[str, ...] = ()
    """Task ids failed before and solved now (in most of their trials)."""
    broken: tuple[str, ...] = ()
    """Task ids solved before and failed now."""
    protected: tuple[str, ...] = ()
    """The broken ones that may never break."""
    rows: tuple[TaskRow, ...] = ()
    """The tasks asked, by id."""

    @property
    def alone(self) -> str:
        """In words, where the changed skill alone was measured; else empty."""
        if self.after is None or self.before is not None:
            return ""
        return f"the changed skill scores {self.after:.3f}; the old one cannot be better and was not measured"

    @property
    def passed(self) -> bool:
        """The change may go in."""
        return self.finding in ("not_lower", "unchanged", "new")


def unmeasured(before: Skill | None, after: Skill) -> CheckReport | None:
    """The report where nothing has to be measured: there was no skill before (None), or it is the same."""
    if before is None:
        return CheckReport("new", "the skill is new: there is nothing to compare it with")
    if before.digest == after.digest:
        return CheckReport("unchanged", "the skill is the same in both commits: nothing was measured")
    return None


async def check(
    rollouts: Rollouts,
    journal: Journal,
    tasks: TaskSet,
    train: TrainSection,
    *,
    before: Skill,
    after: Skill,
    path: str = "",
    commit: str = "",
    purse: Purse | None = None,
) -> CheckReport:
    """Judge the change from `before` to `after` under a run of its own in the journal; equal content is read back.

    `path` is the skill's key in the journal, `commit` where `after` is. Raises `RunStopped` and `BudgetReached`; what
    was scored by then is kept.
    """
    async with scoring_run(journal, f"{EVALUATION}selection", path or after.name, commit, purse=purse) as run_id:
        selection = Selection(rollouts, tasks.split("selection"), run_id, rule_of(train))
        return await judged(selection, train, before, after)


def rule_of(train: TrainSection) -> GateRule:
    """What the gate compares."""
    return GateRule(train.gate_metric, train.mixed_weight, train.min_valid)


async def judged(selection: Selection, train: TrainSection, before: Skill, after: Skill) -> CheckReport:
    """The gate's verdict on going back, read the other way round."""
    protected = {task.id for task in selection.tasks if task.protect}
    # Protection is one-sided: what `before` would break again is no reason to call `after` better.
    selection.tasks = tuple(replace(task, protect=False) for task in selection.tasks)
    kind = "strict" if train.gate == "strict" else "paired"
    gate = make_gate(train.model_copy(update={"gate": kind, "size_penalty": 0.0}))
    verdict = await gate.judge(after, before, selection, Pool())
    return _turned(verdict, protected)


def _turned(verdict: Verdict, protected: set[str]) -> CheckReport:
    broken = tuple(verdict.fixed)
    lost = tuple(task for task in broken if task in protected)
    finding, reason = _finding(verdict, lost)
    rows = tuple(
        replace(
            row,
            before=row.after,
            before_trials=row.after_trials,
            after=row.before,
            after_trials=row.before_trials,
            protect=row.id in protected,
        )
        for row in verdict.rows
    )
    return CheckReport(
        finding=finding,
        reason=reason,
        before=verdict.after,
        after=verdict.current if verdict.before is None and verdict.ruling == "rejected" else verdict.before,
        delta=None if verdict.delta is None else -verdict.delta,
        standard_error=verdict.standard_error,
        tasks=verdict.n,
        of=verdict.of,
        before_trials=verdict.after_trials,
        after_trials=verdict.before_trials,
        fixed=tuple(verdict.broken),
        broken=broken,
        protected=lost,
        rows=rows,
    )


def _finding(verdict: Verdict, lost: tuple[str, ...]) -> tuple[Finding, str]:
    if lost:
        noun = "task" if len(lost) == 1 else "tasks"
        return "lower", f"the change breaks the protected {noun} {', '.join(lost)}"
    if verdict.ruling == "accepted":
        return "lower", "the change lowers the score: the gate would keep the old skill over the new one"
    if verdict.ruling == "rejected":
        return "not_lower", "the change does not lower the score, as far as this split can show"
    return "indecisive", f"nothing can be said: {verdict.rule}"
