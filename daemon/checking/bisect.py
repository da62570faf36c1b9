"""Which commit lost a task, or the score: real `git bisect`, with the selection split as its test.

The ends are measured first: there must be something to find. A commit without enough valid results, or without a valid
skill, is skipped. Results of equal content are read back, so most searches pay for a handful of skills.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from daemon.budget.purse import Purse
from daemon.journal.journal import Journal
from daemon.optimizer.gates.arms import Arm
from daemon.optimizer.gates.measure import Selection
from daemon.optimizer.gates.rule import TIE, GateRule
from daemon.optimizer.scoring_run import EVALUATION, scoring_run
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.task import Task, TaskError, TaskSet
from skills_repo.bisect import Word
from skills_repo.history import RepositoryError
from skills_repo.repository import SkillRepository
from skills_repo.skill import SkillError


@dataclass(frozen=True)
class Look:
    """What one commit came to."""

    commit: str
    word: Word
    score: float | None
    """Mean over the tasks looked at; None: skipped."""


@dataclass(frozen=True)
class BisectReport:
    """The end of a search."""

    found: tuple[str, ...]
    """The commit; several where skipped ones leave it open."""
    bar: float
    """A score below it is bad."""
    looks: tuple[Look, ...]
    """In order; the ends first."""


@dataclass
class Searcher:
    """One search over a skill's history, under a run of its own in the journal."""

    rollouts: Rollouts
    journal: Journal
    tasks: TaskSet
    rule: GateRule
    history: SkillRepository
    trials: int = 1
    purse: Purse | None = None
    _looks: list[Look] = field(default_factory=list)

    async def search(self, good: str, bad: str, task: str | None = None) -> BisectReport:
        """Between two commit ids; of one task (of train or selection), or the mean of the selection split.

        Raises `RepositoryError` where the score is not lower at `bad`, `TaskError` for a task that is not to be had.
        """
        if good == bad or not await self.history.is_ancestor(good, bad):
            raise RepositoryError(f"{bad[:12]} does not come after {good[:12]}: give --good an older commit")
        chosen = self._chosen(task)
        named = f"{EVALUATION}selection"
        async with scoring_run(self.journal, named, self.history.skill_path, bad, purse=self.purse) as run_id:
            return await self._search(good, bad, Selection(self.rollouts, chosen, run_id, self.rule))

    def _chosen(self, task: str | None) -> Sequence[Task]:
        if task is None:
            return self.tasks.split("selection")
        found = [one for name in ("train", "selection") for one in self.tasks.split(name) if one.id == task]
        if not found:
            raise TaskError(f"{self.tasks.source}: no train or selection task is called {task!r} (see `honed eval`)")
        return (found[0],)

    async def _search(self, good: str, bad: str, selection: Selection) -> BisectReport:
        best, worst = await self._score(good, selection), await self._score(bad, selection)
        if best is None or worst is None:
            end = good if best is None else bad
            raise RepositoryError(
                f"{end[:12]} has too few valid results to start from (see `honed eval --ref {end[:12]}`)"
            )
        self._looks += [Look(good, "good", best), Look(bad, "bad", worst)]
        if worst > best - TIE:
            raise RepositoryError(
                f"nothing was lost between {good[:12]} ({best:.3f}) and {bad[:12]} ({worst:.3f}): name other commits"
            )
        bar = (best + worst) / 2
        found = await self._between(good, bad, bar, selection)
        return BisectReport(found, bar, tuple(self._looks))

    async def _between(self, good: str, bad: str, bar: float, selection: Selection) -> tuple[str, ...]:
        with ExitStack() as stack:
            search = await asyncio.to_thread(stack.enter_context, self.history.bisection(good, bad))
            while (commit := await asyncio.to_thread(lambda: search.asks)) is not None:
                score = await self._score(commit, selection)
                word: Word = "skip" if score is None else "bad" if score < bar else "good"
                self._looks.append(Look(commit, word, score))
                await asyncio.to_thread(search.say, word)
            return await asyncio.to_thread(lambda: search.found)

    async def _score(self, commit: str, selection: Selection) -> float | None:
        """The mean over the tasks and trials; None where too little is valid, or where the skill is not."""
        try:
            skill = await self.history.read(commit)
        except (SkillError, RepositoryError):
            return None
        arm = Arm(skill, selection)
        await arm.ask(range(self.trials), selection.tasks)
        found = arm.measured(selection.tasks)
        return found.score if self.rule.enough(found.n, found.of) else None
