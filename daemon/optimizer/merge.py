"""Hierarchical merge of edits, and the check that no two of them claim the same place of the skill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.merge_tree import Merged, MergeForm, MergeTree
from daemon.optimizer.proposals import Patch, normalised, shown, to_edit
from daemon.optimizer.replies import MergeReply
from skills_repo.anchors import Ground, Place
from skills_repo.edits import Edit, Op
from skills_repo.skill import Skill, SkillError


def _read(reply: MergeReply, ids: tuple[str, ...], leaves: int) -> tuple[Edit, ...]:
    return tuple(to_edit(edit, ids, leaves) for edit in reply.edits)


EDITS: MergeForm[Edit] = MergeForm("merge", MergeReply, _read, shown, normalised)


@dataclass(frozen=True)
class Merger:
    """Merges the patches of one step."""

    optimizer: Optimizer
    skill: Skill
    budget: int | None
    batch: int
    step: int
    meta_skill: str = ""

    async def merge(self, patches: Sequence[Patch]) -> Merged[Edit]:
        """The whole tree; of edits that overlap in the skill, the one with most support stays."""
        tree = MergeTree(EDITS, self.optimizer, self.skill, self.budget, self.batch, self.step, self.meta_skill)
        merged = await tree.merge(patches)
        if merged.patch is None:
            return merged
        edits, notes = apart(self.skill, merged.patch.edits)
        return replace(merged, patch=replace(merged.patch, edits=edits)).noting(*notes)


def apart(skill: Skill, edits: Sequence[Edit]) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """The edits whose targets do not overlap in the skill, and a note for each one dropped.

    The one with less support goes, of equals the later one. Two insertions below the same line take nothing from each
    other: both stay.
    """
    try:
        ground = Ground(skill.text)
    except SkillError:  # `apply` says what is wrong with the skill
        return tuple(edits), ()
    taken: dict[int, Place] = {}
    notes: list[str] = []
    for index in sorted(range(len(edits)), key=lambda index: (-edits[index].support, index)):
        place = _place(ground, edits[index])
        if place is None:
            continue
        other = next((at for at, known in taken.items() if _clash(edits[index], place, edits[at], known)), None)
        if other is None:
            taken[index] = place
            continue
        edit, kept = edits[index], edits[other]
        notes.append(
            f"dropped {edit.op} {_brief(edit)} (support {edit.support}): it overlaps with {kept.op} {_brief(kept)}"
            f" (support {kept.support})"
        )
    left = tuple(edit for at, edit in enumerate(edits) if at in taken or _place(ground, edit) is None)
    return left, tuple(notes)


def _place(ground: Ground, edit: Edit) -> Place | None:
    """Where the edit's target is; None where it has no certain place."""
    if edit.op is Op.APPEND or not edit.target.strip():
        return None
    place = ground.locate(edit.target)
    return place if isinstance(place, Place) else None


def _clash(one: Edit, place: Place, other: Edit, taken: Place) -> bool:
    if one.op is Op.INSERT_AFTER and other.op is Op.INSERT_AFTER:
        return False
    return place.start < taken.end and taken.start < place.end


def _brief(edit: Edit) -> str:
    words = " ".join(edit.target.split())
    return f"«{words if len(words) <= 60 else words[:59] + '…'}»"
