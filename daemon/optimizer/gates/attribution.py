"""What each edit of an accepted candidate carries: leave one out, and drop those that carry nothing.

Bounded: at most one reduced skill an edit, measured on the tasks that the candidate changed alone, as often as the
candidate's own estimate; and one judgement of what is left, which has to pass the same gate as a whole.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from daemon.optimizer.gates.arms import Arm, paired, samples
from daemon.optimizer.gates.evidence import p_value
from daemon.optimizer.gates.measure import Selection
from daemon.optimizer.gates.verdict import Pool, Verdict
from daemon.optimizer.wording import counted
from daemon.tasks.task import Task
from skills_repo.edits import Applied, EditLimits, apply
from skills_repo.skill import Skill

Judge = Callable[[Skill, Skill, Selection, Pool], Awaitable[Verdict]]
"""A gate's `judge`."""


@dataclass(frozen=True)
class Attribution:
    """What came of it."""

    applied: Applied
    """The candidate to keep: the one given, or what is left of it."""
    verdict: Verdict
    """Of the candidate to keep."""
    shares: tuple[float, ...]
    """What each of its applied edits carries of the score, in order; with whatever cannot be applied without it."""
    dropped: tuple[int, ...] = ()
    """Positions in the given candidate's applied edits of those that carry nothing."""
    reason: str = ""
    """In words."""
    attempts: int = 0
    """Asked for beyond the verdict given, the judgement of what is left included."""


async def attribute(
    judge: Judge, base: Skill, applied: Applied, verdict: Verdict, selection: Selection, *, limits: EditLimits
) -> Attribution:
    """Measure each edit of an accepted candidate by the score without it; keep those that carry something.

    One after the other: an edit is dropped if the skill without it does not score less and no paired evidence speaks
    for it; the next one is then weighed without it, so that of two edits that say the same one stays. What is left must
    be accepted by `judge` against `base`; else the candidate stays whole. Raises `RunStopped` like a gate.
    """
    edits = applied.report.applied
    if len(edits) < 2 or not verdict.candidate_pool.count:
        return Attribution(applied, verdict, (), reason="one edit has no parts to weigh")
    tasks, trials = _changed(verdict, selection), range(verdict.candidate_pool.count)
    whole = Arm(applied.result, selection)
    await whole.ask(verdict.candidate_pool.trials, selection.tasks)
    kept, shares, attempts = list(range(len(edits))), dict[int, float](), 0
    for position in range(len(edits)):
        others = [other for other in kept if other != position]
        if not others:
            break  # what is left is all there is: the verdict speaks for it
        rest = apply(base, [edits[other] for other in others], limits)
        part = Arm(rest.result, selection)
        attempts += await part.ask(trials, tasks)
        shares[position], carries = _share(part, whole, tasks, selection)
        if not carries:  # from now on it is judged what the others carry without it
            kept, whole = others, part
    idle = [position for position in range(len(edits)) if position not in kept]
    measured = tuple(shares.get(position, verdict.delta or 0.0) for position in range(len(edits)))
    if not idle:
        return Attribution(applied, verdict, measured, reason="every edit carries something", attempts=attempts)
    left = apply(base, [edits[position] for position in kept], limits)
    again = await judge(base, left.result, selection, verdict.base_pool)
    attempts += again.before_attempts + again.after_attempts
    if again.ruling != "accepted" or len(left.stages) != len(kept):
        found = f"{len(idle)} of {counted(len(edits), 'edit')} found to carry nothing"
        reason = f"{found}, but without that the skill does not hold: {again.rule}"
        return Attribution(applied, verdict, measured, reason=reason, attempts=attempts)
    reason = f"{len(idle)} of {len(edits)} edits carry nothing and are dropped"
    return Attribution(left, again, tuple(measured[p] for p in kept), tuple(idle), reason, attempts)


def _changed(verdict: Verdict, selection: Selection) -> list[Task]:
    """The tasks whose trials were not all alike under both skills: elsewhere no edit made a difference."""
    alike = {row.id for row in verdict.rows if row.before == row.after and row.before in (0, 1)}
    return [task for task in selection.tasks if task.id not in alike]


def _share(part: Arm, whole: Arm, tasks: Sequence[Task], selection: Selection) -> tuple[float, bool]:
    """What the whole scores above the part, over the whole split, and whether anything speaks for that."""
    pairs = paired(part, whole, tasks)
    found = samples(part, whole, pairs)
    total = sum(task.weight for task in selection.tasks)
    share = sum(sample.weight * sample.difference for sample in found) / total if total else 0.0
    return share, share > 0 and p_value(found) < 0.5
