"""The strict gate, the paper's rule: kept only if it is better than the current skill on one pass over the split.

A tie is a rejection (unless the shorter skill is to win it); too little valid coverage decides nothing. The pass ends
as soon as the tasks left cannot change the ruling, whatever comes of them, failures of ours included. The tasks that
can still be gained are asked first: once they are spent, the rest can only lose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from daemon.optimizer.gates.arms import Standing
from daemon.optimizer.gates.measure import Measured, Selection, measured, measured_in_pairs
from daemon.optimizer.gates.rule import TIE, GateRule, Pair, mean, valid_pairs
from daemon.optimizer.gates.verdict import Look, Pool, Ruling, TaskRow, Verdict
from daemon.rollouts.result import TaskResult
from daemon.tasks.task import Task
from skills_repo.skill import Skill

_ONE = Pool(0, 1)


@dataclass(frozen=True)
class StrictGate:
    """One trial of every task, `>` on the mean."""

    shorter_wins: bool = False
    """A tie is accepted if the candidate's SKILL.md is shorter."""
    lossless_stop: bool = True
    """Stop when the ruling is certain; switched off only to show that it changes none."""

    async def measure(self, skill: Skill, selection: Selection) -> tuple[Measured, Pool]:
        """One trial of every task."""
        return measured(await selection.results(skill), selection.rule), _ONE

    async def judge(self, base: Skill, candidate: Skill, selection: Selection, pool: Pool) -> Verdict:
        """One pass over the split, as far as it can matter."""
        before = await selection.results(base)
        shorter = self.shorter_wins and candidate.chars < base.chars
        course = _Course(before, selection.rule, shorter)
        after: list[TaskResult] = []
        async with aclosing(selection.stream(candidate, 0, course.order(selection.tasks))) as results:
            async for result in results:
                after.append(result)
                if self.lossless_stop and course.settled(after):
                    break
        verdict = strict(before, after, selection.rule, shorter=shorter)
        return _complete(verdict, before, after, selection)

    async def report(self, before: Standing, after: Standing, selection: Selection) -> tuple[Measured, Measured]:
        """The passes that were judged."""
        return measured_in_pairs(await selection.results(before[0]), await selection.results(after[0]), selection.rule)


@dataclass(frozen=True)
class _Course:
    """What the rest of a pass can still change."""

    before: Sequence[TaskResult]
    rule: GateRule
    shorter: bool

    def order(self, tasks: Sequence[Task]) -> list[Task]:
        """Those with most to gain first, then by id; tasks that have no score under the current skill last."""
        gains = {result.task_id: self._gain(result) for result in self.before if result.valid}
        return sorted(tasks, key=lambda task: (-gains.get(task.id, -1.0), task.id))

    def settled(self, after: Sequence[TaskResult]) -> bool:
        """No outcome of the rest makes another ruling than a rejection (or makes any, where too little is valid)."""
        asked = {result.task_id for result in after}
        left = [result for result in self.before if result.valid and result.task_id not in asked]
        pairs = valid_pairs(self.before, after)
        need = max(1, self.rule.least(len(self.before)))
        if len(pairs) + len(left) < need:
            return True
        weight = math.fsum(old.task.weight for old, _ in pairs)
        if len(pairs) < need or weight <= 0:
            return False
        if _broken_protected(pairs) is not None:
            return True
        lead = math.fsum(old.task.weight * (self.rule.value(new) - self.rule.value(old)) for old, new in pairs)
        best = lead + math.fsum(self._gain(result) for result in left)
        if self.shorter:
            return best < -2 * TIE * (weight + math.fsum(result.task.weight for result in left))
        return best <= TIE / 2 * weight

    def _gain(self, result: TaskResult) -> float:
        return result.task.weight * max(0.0, 1 - self.rule.value(result))


def strict(
    baseline: Sequence[TaskResult], candidate: Sequence[TaskResult], rule: GateRule, *, shorter: bool = False
) -> Verdict:
    """Judge a candidate against the current skill over the tasks of `baseline`. `shorter`: it wins a tie.

    Tasks that the candidate was not asked count as having no score.
    """
    asked = {result.task_id for result in (*baseline, *candidate)}
    pairs = valid_pairs(baseline, candidate)
    before, after = mean([a for a, _ in pairs], rule), mean([b for _, b in pairs], rule)
    fixed = tuple(b.task_id for a, b in pairs if b.solved and not a.solved)
    broken = tuple(b.task_id for a, b in pairs if a.solved and not b.solved)
    ruling, words = _rule(pairs, (before, after), len(asked), rule, shorter=shorter)
    delta = None if before is None or after is None else after - before
    return Verdict(ruling, before, after, delta, len(pairs), len(asked), fixed, broken, words)


def _rule(
    pairs: Sequence[Pair], means: tuple[float | None, float | None], of: int, rule: GateRule, *, shorter: bool
) -> tuple[Ruling, str]:
    before, after = means
    n = len(pairs)
    if before is None or after is None or not rule.enough(n, of):
        need = max(1, rule.least(of))
        return "indecisive", f"only {n} of {of} tasks are valid under both skills, {need} are needed: nothing decided"
    words = f"{rule.metric} {before:.3f} -> {after:.3f} on {n} of {of} tasks"
    if (task_id := _broken_protected(pairs)) is not None:
        return "rejected", f"{words}: the protected task {task_id} was solved before and is not now"
    if after - before > TIE:
        return "accepted", f"{words}: strictly better"
    if abs(after - before) <= TIE and shorter:
        return "accepted", f"{words}: a tie, and the skill is shorter"
    if abs(after - before) <= TIE:
        return "rejected", f"{words}: a tie is not better"
    return "rejected", f"{words}: worse"


def _broken_protected(pairs: Sequence[Pair]) -> str | None:
    return next((old.task_id for old, new in pairs if old.task.protect and old.solved and not new.solved), None)


def _complete(
    verdict: Verdict, before: Sequence[TaskResult], after: Sequence[TaskResult], selection: Selection
) -> Verdict:
    """The verdict with everything a decision keeps."""
    rule = selection.rule
    old, new = ({result.task_id: result for result in side} for side in (before, after))
    rows = []
    for task_id in sorted(new):
        pair = [side[task_id] for side in (old, new)]
        values = [rule.value(result) if result.valid else None for result in pair]
        task = pair[0].task
        counts = [int(result.valid) for result in pair]
        rows.append(TaskRow(task_id, values[0], counts[0], values[1], counts[1], task.weight, task.protect, task.group))
    words, left = verdict.rule, len(selection.tasks) - len(after)
    if left:
        words += f"; stopped, for the other {left} cannot change that"
    look = Look(1, len(after), len(after), verdict.before, verdict.after, None, words)
    return replace(
        verdict,
        rule=words,
        before_trials=1,
        after_trials=1,
        looks=(look,),
        rows=tuple(rows),
        after_attempts=len(after),
        current=verdict.after if verdict.ruling == "accepted" else mean(before, rule),
        measured=measured(after, rule),
        base_pool=_ONE,
        candidate_pool=_ONE,
    )
