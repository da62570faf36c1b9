"""The autonomous schedule: the optimizer picks the edit budget of each step, within bounds that code holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.prompts.render import render
from daemon.optimizer.replies import LearningRateReply
from sandboxes.gateway.policy import Usage
from skills_repo.skill import Skill


@dataclass(frozen=True)
class Picked:
    """The budget of a step, and what it took to find it."""

    budget: int | None
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    record: Mapping[str, Any] = field(default_factory=dict)
    """The optimizer's reply, where it was asked and could be read."""


@dataclass(frozen=True)
class LearningRate:
    """Asks for one step's budget; always `least` to `most`, and at least one."""

    least: int
    most: int
    total: int
    """Steps of the run."""

    async def pick(
        self,
        optimizer: Optimizer,
        skill: Skill,
        buffer: StepBuffer,
        rows: Sequence[Mapping[str, Any]],
        *,
        step: int,
    ) -> Picked:
        """The budget for what is proposed (`rows`); not asked where every budget allowed would do.

        An unusable reply gives the least, and a note.
        """
        least = max(1, self.least)
        most = max(least, self.most)
        if len(rows) <= least or least == most:
            return Picked(least)
        place = f"{step}/learning_rate/0"
        user = render(
            "learning_rate.user.j2",
            skill=skill.text,
            step=step,
            total=self.total,
            earlier=buffer.told,
            edits=rows,
            least=least,
            most=most,
        )
        system = render("learning_rate.system.j2")
        answer = await optimizer.ask(place, "learning_rate", LearningRateReply, system=system, user=user)
        if answer.reply is None:
            return Picked(least, (f"{answer.error}; the least budget of {least} is taken",), answer.usage)
        asked = answer.reply.learning_rate
        budget = min(max(asked, least), most)
        notes = (
            (f"{place}: {asked} asked for, {budget} taken ({least} to {most} are allowed)",) if asked != budget else ()
        )
        return Picked(budget, notes, answer.usage, answer.reply.model_dump(mode="json"))
