"""Hierarchical merge: failures among themselves, successes among themselves, then both with failures first.

A tree of at most `batch` patches a call; a single patch needs no call. A merge that cannot be read falls back to
the patches' own edits without repetitions, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.prompts.render import render
from daemon.optimizer.proposals import Patch, Source, normalised, to_edit
from daemon.optimizer.replies import MergeReply
from daemon.rollouts.parallel import ordered
from sandboxes.gateway.policy import Usage
from skills_repo.edits import Edit
from skills_repo.skill import Skill


@dataclass(frozen=True)
class Merged:
    """One patch out of many, and what it took."""

    patch: Patch | None
    """None: nothing was proposed."""
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Merger:
    """Merges the patches of one step."""

    optimizer: Optimizer
    skill: Skill
    budget: int | None
    batch: int
    step: int
    meta_skill: str = ""

    async def merge(self, patches: Sequence[Patch]) -> Merged:
        """The whole tree."""
        failures = [patch for patch in patches if patch.source == "failures"]
        successes = [patch for patch in patches if patch.source == "successes"]
        halves = await ordered([self._tree(failures, "failures"), self._tree(successes, "successes")])
        both = [half.patch for half in halves if half.patch and half.patch.edits]
        top = await self._group(both, "both", "merge_both/0") if both else Merged(None)
        notes = tuple(note for part in (*halves, top) for note in part.notes)
        return Merged(top.patch, notes, sum((part.usage for part in (*halves, top)), Usage()))

    async def _tree(self, patches: Sequence[Patch], source: Source) -> Merged:
        level, notes, usage = 0, (), Usage()  # type: int, tuple[str, ...], Usage
        while len(patches) > 1:
            groups = [patches[i : i + self.batch] for i in range(0, len(patches), self.batch)]
            places = [f"merge_{source}/{level}.{i}" for i in range(len(groups))]
            merged = await ordered(
                self._group(group, source, place) for group, place in zip(groups, places, strict=True)
            )
            patches = [part.patch for part in merged if part.patch and part.patch.edits]
            notes += tuple(note for part in merged for note in part.notes)
            usage = sum((part.usage for part in merged), usage)
            level += 1
        return Merged(patches[0] if patches else None, notes, usage)

    async def _group(self, group: Sequence[Patch], source: Source, phase: str) -> Merged:
        if len(group) == 1:
            return Merged(group[0])
        ids = tuple(sorted({i for patch in group for i in patch.ids}))
        leaves = sum(patch.leaves for patch in group)
        answer = await self.optimizer.ask(
            f"{self.step}/{phase}",
            "merge",
            MergeReply,
            system=render("merge.system.j2"),
            user=render(
                "merge.user.j2",
                meta_skill=self.meta_skill,
                skill=self.skill.text,
                budget=self.budget,
                patches=[patch.shown() for patch in group],
            ),
        )
        if answer.reply is None:
            note = f"{answer.error}; the patches' own edits are taken without repetitions"
            return Merged(Patch(source, union(group), ids, leaves), (note,), answer.usage)
        most = sum(len(patch.edits) for patch in group)
        edits = tuple(to_edit(edit, ids, leaves) for edit in answer.reply.edits[:most])
        return Merged(Patch(source, edits, ids, leaves), (), answer.usage)


def union(patches: Sequence[Patch]) -> tuple[Edit, ...]:
    """Every edit once, in order; equal ones add up their support and unite their evidence."""
    rows: dict[tuple[str, str, str], Edit] = {}
    for edit in (edit for patch in patches for edit in patch.edits):
        known = rows.get(normalised(edit))
        if known is None:
            rows[normalised(edit)] = edit
            continue
        evidence = tuple(sorted({*known.evidence, *edit.evidence}))
        rows[normalised(edit)] = replace(known, support=known.support + edit.support, evidence=evidence)
    return tuple(rows.values())
