"""The merge tree, whatever is merged: failures among themselves, successes among themselves, then both.

A tree of at most `batch` patches a call; a single patch needs no call. Both groups' trees grow at the same time. A
merge that cannot be read falls back to what the patches hold, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar

from pydantic import BaseModel

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.prompts.render import render, render_prompt
from daemon.optimizer.proposals import Proposals, Source
from daemon.optimizer.skill_files import SkillFiles
from daemon.rollouts.parallel import ordered
from sandboxes.gateway.policy import Usage
from skills_repo.skill import Skill


class Supported(Protocol):
    """What can be merged: something with support and evidence (a frozen dataclass)."""

    @property
    def support(self) -> int:
        """How many minibatches asked for it."""

    @property
    def evidence(self) -> tuple[str, ...]:
        """Task ids that asked for it, ordered."""


S = TypeVar("S", bound=Supported)


@dataclass(frozen=True)
class MergeForm(Generic[S]):
    """What one update mode merges, and how it asks."""

    role: str
    """Also names the templates: `<role>.system.j2`; the user prompt is `merge.user.j2` for all."""
    schema: type[BaseModel]
    read: Callable[[Any, tuple[str, ...], int], tuple[S, ...]]
    """Reply, task ids and minibatches below to what it says, bounded."""
    show: Callable[[S], dict[str, Any]]
    same: Callable[[S], Hashable]
    """Equal for what says the same."""
    fall_back: Callable[[Sequence[S]], tuple[S, ...]] = tuple
    """What is taken of all the patches' own (repetitions united) where the reply cannot be read."""
    fallback_note: str = "the patches' own edits are taken without repetitions"


@dataclass(frozen=True)
class Merged(Generic[S]):
    """One patch out of many, and what it took."""

    patch: Proposals[S] | None
    """None: nothing was proposed."""
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def noting(self, *notes: str) -> Self:
        """With more notes."""
        return replace(self, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class MergeTree(Generic[S]):
    """Merges the patches of one step."""

    form: MergeForm[S]
    optimizer: Optimizer
    skill: Skill
    budget: int | None
    """None: no edit budget."""
    batch: int
    step: int
    meta_skill: str = ""
    """The optimizer's own memory."""
    files: SkillFiles | None = None
    """What may be edited besides SKILL.md."""

    async def merge(self, patches: Sequence[Proposals[S]]) -> Merged[S]:
        """The whole tree."""
        failures = [patch for patch in patches if patch.source == "failures"]
        successes = [patch for patch in patches if patch.source == "successes"]
        halves = await ordered([self._tree(failures, "failures"), self._tree(successes, "successes")])
        both = [half.patch for half in halves if half.patch and half.patch.edits]
        top: Merged[S] = await self._group(both, "both", "merge_both/0") if both else Merged(None)
        notes = tuple(note for part in (*halves, top) for note in part.notes)
        return Merged(top.patch, notes, sum((part.usage for part in (*halves, top)), Usage()))

    async def _tree(self, patches: Sequence[Proposals[S]], source: Source) -> Merged[S]:
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

    async def _group(self, group: Sequence[Proposals[S]], source: Source, phase: str) -> Merged[S]:
        if len(group) == 1:
            return Merged(group[0])
        form = self.form
        ids = tuple(sorted({i for patch in group for i in patch.ids}))
        leaves = sum(patch.leaves for patch in group)
        patches = [{"source": patch.source, "edits": [form.show(item) for item in patch.edits]} for patch in group]
        user = render_prompt(
            "merge.user.j2",
            meta_skill=self.meta_skill,
            skill=self.skill.text,
            files=self.files,
            budget=self.budget,
            patches=patches,
        )
        system = render(f"{form.role}.system.j2", files=self.files)
        answer = await self.optimizer.ask(f"{self.step}/{phase}", form.role, form.schema, system=system, user=user)
        known = unite([item for patch in group for item in patch.edits], form.same)
        if answer.reply is None:
            note = f"{answer.error}; {form.fallback_note}"
            return Merged(Proposals(source, form.fall_back(known), ids, leaves), (note,), answer.usage)
        most = sum(len(patch.edits) for patch in group)
        rows = form.read(answer.reply, ids, leaves)
        items = self._verified(unite(rows[:most], form.same, leaves), known, leaves)
        notes = (
            (f"{self.step}/{phase}: {len(rows)} edits came back, the first {most} taken",) if len(rows) > most else ()
        )
        return Merged(Proposals(source, items, ids, leaves), notes, answer.usage)

    def _verified(self, items: Sequence[S], known: Sequence[S], leaves: int) -> tuple[S, ...]:
        """What was not changed in merging has at least the support and evidence that it came with."""
        before = {self.form.same(item): item for item in known}
        return tuple(
            _with(item, max(item.support, old.support), {*item.evidence, *old.evidence}, leaves)
            if (old := before.get(self.form.same(item)))
            else item
            for item in items
        )


def unite(items: Sequence[S], same: Callable[[S], Hashable], most: int | None = None) -> tuple[S, ...]:
    """Every one once, in order; equal ones add up their support (at most `most`) and unite their evidence."""
    rows: dict[Hashable, S] = {}
    for item in items:
        key = same(item)
        known = rows.get(key)
        rows[key] = (
            item
            if known is None
            else _with(known, known.support + item.support, {*known.evidence, *item.evidence}, most)
        )
    return tuple(rows.values())


def _with(item: S, support: int, evidence: set[str], most: int | None) -> S:
    """The item with other support and evidence."""
    support = support if most is None else min(support, most)
    made: S = replace(item, support=support, evidence=tuple(sorted(evidence)))  # type: ignore[type-var]
    return made
