"""The simulated agent: it works as the world says, and its trace shows as much of the reason as an attempt would.

A plain cause shows (mostly); a deep one does not; that a rule led astray shows now and then. `verify` knows no more
than what the agent handed over.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from daemon.tasks.scorers.scorer import Result
from daemon.tasks.task import Score, Task
from harnesses.harness import Assignment, Attempt
from harnesses.outcome import Outcome
from harnesses.traces.trace import Message, Trace
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected
from tests.worlds.world import Ending, World, draw

SHOWS_CAUSE = 0.85
SHOWS_MISLEADING = 0.25


@dataclass
class WorldAgent:
    """A `Harness` in a world."""

    world: World
    chaos: random.Random | None = None
    """Where given, attempts end in random order."""
    name: str = "chat"
    attempts: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """(skill digest, task id, trial) to attempts begun."""
    _deep: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._deep = frozenset(cause.id for cause in self.world.lore.causes if cause.deep)

    def settings(self) -> Mapping[str, str]:
        """What decides results besides skill and task."""
        return {"provider": "fakeprovider", "model": f"world-{self.world.seed}"}

    async def run(self, assignment: Assignment) -> Attempt:
        """One attempt."""
        for _ in range(self.chaos.randrange(8) if self.chaos else 1):
            await asyncio.sleep(0)
        text = assignment.skill.text if assignment.skill else ""
        trial = assignment.seed or 0
        self.attempts[assignment.skill.digest if assignment.skill else "", assignment.task_id, trial] += 1
        ending = self.world.attempt(text, assignment.task_id, trial)
        said = self._said(ending, f"{self.world.seed}/{assignment.task_id}/{trial}/{len(text)}")
        return Attempt(
            attempt_id=assignment.attempt_id,
            outcome=Outcome.COMPLETED,
            detail="",
            trace=Trace((Message(said),), said, skill_listed=True, skill_opened=True, finished=True),
            summary=said,
            workspace=Collected({}),
            usage=Usage(1, 1000, 0, 100, 0.01),
            wall_s=1.0,
        )

    def _said(self, ending: Ending, key: str) -> str:
        """What can be seen of the ending."""
        if ending.solved:
            return "All is well."
        cause = ending.failed_by
        if not cause or cause in self._deep:
            return "The outcome is wrong, and no step of it looks so."
        if cause in self.world.harmful:
            shows = draw(f"{key}/misled") < SHOWS_MISLEADING
            return f"Led astray by {cause}." if shows else "The outcome is wrong, and no step of it looks so."
        if draw(f"{key}/shows") < SHOWS_CAUSE:
            return f"It went wrong at {cause}."
        return "The outcome is wrong, and no step of it looks so."


async def verify(task: Task, result: Result) -> Score:
    """Solved if the agent says so (in a world, agents are honest)."""
    solved = result.final_answer == "All is well."
    return Score(1.0 if solved else 0.0, solved, "" if solved else "not solved")
