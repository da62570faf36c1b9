"""The strict gate: a candidate is kept only if it is better than the current skill on one pass over the split.

A pure function. A tie is a rejection; too little valid coverage decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from daemon.optimizer.gates.rule import TIE, GateRule, mean, valid_pairs
from daemon.optimizer.gates.verdict import Ruling, Verdict
from daemon.rollouts.result import TaskResult


def strict(baseline: Sequence[TaskResult], candidate: Sequence[TaskResult], rule: GateRule) -> Verdict:
    """Judge a candidate against the current skill over the tasks that both were asked."""
    asked = {result.task_id for result in (*baseline, *candidate)}
    pairs = valid_pairs(baseline, candidate)
    before, after = mean([a for a, _ in pairs], rule), mean([b for _, b in pairs], rule)
    fixed = tuple(b.task_id for a, b in pairs if b.solved and not a.solved)
    broken = tuple(b.task_id for a, b in pairs if a.solved and not b.solved)
    ruling, words = _rule(before, after, len(pairs), len(asked), rule)
    delta = None if before is None or after is None else after - before
    return Verdict(ruling, before, after, delta, len(pairs), len(asked), fixed, broken, words)


def _rule(before: float | None, after: float | None, n: int, of: int, rule: GateRule) -> tuple[Ruling, str]:
    if before is None or after is None or not rule.enough(n, of):
        need = max(1, rule.least(of))
        return "indecisive", f"only {n} of {of} tasks are valid under both skills, {need} are needed: nothing decided"
    words = f"{rule.metric} {before:.3f} -> {after:.3f} on {n} of {of} tasks"
    if after - before > TIE:
        return "accepted", f"{words}: strictly better"
    if abs(after - before) <= TIE:
        return "rejected", f"{words}: a tie is not better"
    return "rejected", f"{words}: worse"
