"""The paired gate: a candidate is kept if its lead over the current skill, task by task, is more than chance makes.

In rounds: one trial of every task each. A candidate that does not lead is dropped at once; one that does is confirmed
with fresh trials of both arms, round by round, until it is clear or the rounds are used up. What it takes to be
accepted is shared out over the rounds (`bars`), so that all looks together err at most as often as they may. One that
is accepted is measured once more: those trials decided nothing, so they alone say what it scores.

Within a round the tasks that the current skill always solves wait: they can only cost the candidate.
"""

from __future__ import annotations

from dataclasses import dataclass

from daemon.optimizer.gates.arms import Arm, Standing, measured_by_pools
from daemon.optimizer.gates.course import Course
from daemon.optimizer.gates.measure import Measured, Selection
from daemon.optimizer.gates.verdict import Pool, Verdict
from skills_repo.skill import Skill

START = 3
"""Trials of the initial skill."""
AGAIN = 2
"""Trials of an accepted candidate that decide nothing."""
_EARLY = 0.2
"""Share of the error that all looks before the last may use."""
_FIRST_HOPE, _HOPE = 0.5, 0.3
"""Largest p value to go on with: after the first round, and after later ones."""


@dataclass(frozen=True)
class PairedGate:
    """Sequential, with an exact test (`evidence.py`) at every look."""

    trials: int = 3
    """Most rounds: trials of a task of a candidate."""
    most_pooled: int = 6
    """Most trials of a task that the current skill's estimate rests on."""
    error: float = 0.05
    """Probability of accepting a candidate that changes nothing, over all looks of one judgement, at most."""
    shorter_wins: bool = False
    """A candidate with the same result in every trial of every task is accepted if its SKILL.md is shorter."""

    async def measure(self, skill: Skill, selection: Selection) -> tuple[Measured, Pool]:
        """A few trials of every task; not those that got it accepted, if an earlier run did (the winner's curse)."""
        arm, pool = Arm(skill, selection), self._first()
        await arm.ask(pool.trials, selection.tasks)
        return arm.measured(selection.tasks), pool

    async def judge(self, base: Skill, candidate: Skill, selection: Selection, pool: Pool) -> Verdict:
        """Round by round, until it is clear."""
        shorter = self.shorter_wins and candidate.chars < base.chars
        course = Course(Arm(base, selection), Arm(candidate, selection), self._topped_up(pool), shorter=shorter)
        await course.open(pool)
        for number, bar in enumerate(self.bars(), start=1):
            last = number == self.trials
            hope = bar if last else (_FIRST_HOPE if number == 1 else _HOPE)
            if verdict := await course.round(number, bar, hope, last=last):
                return verdict
            if course.leads:
                break
        return await course.confirm(AGAIN)

    async def report(self, before: Standing, after: Standing, selection: Selection) -> tuple[Measured, Measured]:
        """Each skill by the trials of its pool."""
        return await measured_by_pools(before, after, selection)

    def bars(self) -> tuple[float, ...]:
        """The largest p value to accept with, round by round; together they are `error`.

        The first accepts nothing unless it is the only one: whoever leads is confirmed.
        """
        if self.trials <= 2:
            return (0.0, self.error)[2 - self.trials :]
        early = [self.error * _EARLY / (self.trials - 2)] * (self.trials - 2)
        return (0.0, *early, self.error - sum(early))

    def _first(self) -> Pool:
        """The first pool of a skill: beyond the trials that may have decided about it as a candidate."""
        return Pool(self.trials, min(START, self.most_pooled))

    def _topped_up(self, pool: Pool) -> Pool:
        """The current skill's pool from now on: one trial more at each judgement, whatever the results."""
        if not pool.count:
            return self._first()
        return Pool(pool.first, max(pool.count, min(pool.count + 1, self.most_pooled)), pool.asked)
