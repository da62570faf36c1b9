"""Rank and clip: if there are more edits than the budget, the optimizer picks which stay.

Its indices are checked; without a usable one the edits with most support stay, and that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.prompts.render import render
from daemon.optimizer.proposals import shown
from daemon.optimizer.replies import RankReply
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Edit
from skills_repo.skill import Skill


@dataclass(frozen=True)
class Ranked:
    """The edits that stay, best first."""

    edits: tuple[Edit, ...]
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


async def rank(
    optimizer: Optimizer, skill: Skill, edits: Sequence[Edit], *, budget: int, step: int, meta_skill: str = ""
) -> Ranked:
    """At most `budget` of the edits; no call if all fit."""
    if len(edits) <= budget:
        return Ranked(tuple(edits))
    place = f"{step}/rank/0"
    rows = [{"index": index, **shown(edit)} for index, edit in enumerate(edits)]
    answer = await optimizer.ask(
        place,
        "rank",
        RankReply,
        system=render("rank.system.j2"),
        user=render("rank.user.j2", meta_skill=meta_skill, skill=skill.text, budget=budget, edits=rows),
    )
    selected = answer.reply.selected if answer.reply else []
    usable = [index for index in dict.fromkeys(selected) if 0 <= index < len(edits)]
    notes: list[str] = [answer.error] if answer.error else []
    if answer.reply and len(usable) < len(selected):
        notes.append(f"{place}: {len(selected) - len(usable)} indices were repeated or do not exist")
    if not usable:
        notes.append(f"{place}: no usable ranking: the edits with most support are taken")
        usable = sorted(range(len(edits)), key=lambda index: (-edits[index].support, index))
    return Ranked(tuple(edits[index] for index in usable[:budget]), tuple(notes), answer.usage)
