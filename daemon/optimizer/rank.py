"""Rank and clip: if there are more edits than the budget, the optimizer picks which stay.

Its indices are checked; without a usable one the edits with most support stay, and that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.merge_tree import S
from daemon.optimizer.prompts.render import render
from daemon.optimizer.proposals import shown
from daemon.optimizer.replies import RankReply
from daemon.optimizer.skill_files import SkillFiles
from sandboxes.gateway.policy import Usage
from skills_repo.edits import MAX_EDITS, Edit
from skills_repo.skill import Skill


@dataclass(frozen=True)
class Ranked(Generic[S]):
    """What stays, best first."""

    edits: tuple[S, ...]
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def rank(
    optimizer: Optimizer,
    skill: Skill,
    edits: Sequence[Edit],
    *,
    budget: int | None,
    step: int,
    meta_skill: str = "",
    files: SkillFiles | None = None,
) -> Ranked[Edit]:
    """At most `budget` of the edits; no call if all fit, or if there is no budget (then at most `MAX_EDITS`)."""
    return await Ranking(optimizer, skill, step, shown, meta_skill, files).rank(edits, budget)


@dataclass(frozen=True)
class Ranking(Generic[S]):
    """Ranks whatever a mode proposes in one step."""

    optimizer: Optimizer
    skill: Skill
    step: int
    show: Callable[[S], dict[str, Any]]
    """As JSON-able data for the prompt."""
    meta_skill: str = ""
    """The optimizer's own memory."""
    files: SkillFiles | None = None
    """What may be edited besides SKILL.md."""

    async def rank(self, items: Sequence[S], budget: int | None) -> Ranked[S]:
        """At most `budget` of the items; no call if all fit."""
        if budget is None:
            over = len(items) - MAX_EDITS
            notes = (f"{self.step}/rank: {len(items)} edits, the first {MAX_EDITS} taken",) if over > 0 else ()
            return Ranked(tuple(items[:MAX_EDITS]), notes)
        if len(items) <= budget:
            return Ranked(tuple(items))
        place = f"{self.step}/rank/0"
        rows = [{"index": index, **self.show(item)} for index, item in enumerate(items)]
        user = render(
            "rank.user.j2",
            meta_skill=self.meta_skill,
            skill=self.skill.text,
            files=self.files,
            budget=budget,
            edits=rows,
        )
        answer = await self.optimizer.ask(place, "rank", RankReply, system=render("rank.system.j2"), user=user)
        selected = answer.reply.selected if answer.reply else []
        usable = [index for index in dict.fromkeys(selected) if 0 <= index < len(items)]
        told: list[str] = [answer.error] if answer.error else []
        if answer.reply and len(usable) < len(selected):
            told.append(f"{place}: {len(selected) - len(usable)} indices were repeated or do not exist")
        if not usable:
            told.append(f"{place}: no usable ranking: the edits with most support are taken")
            usable = sorted(range(len(items)), key=lambda index: (-items[index].support, index))
        return Ranked(tuple(items[index] for index in usable[:budget]), tuple(told), answer.usage)
