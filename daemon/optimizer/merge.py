"""Hierarchical merge of edits, and the check that no two of them claim the same place of the skill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.claims import Claim, Grounds, clash
from daemon.optimizer.merge_tree import Merged, MergeForm, MergeTree
from daemon.optimizer.proposals import Patch, normalised, shown, to_edit
from daemon.optimizer.replies import MergeReply
from daemon.optimizer.replies_files import schemas
from daemon.optimizer.skill_files import SkillFiles
from skills_repo.edits import Edit
from skills_repo.skill import SKILL_FILE, Skill, SkillError


def _read(reply: Any, ids: tuple[str, ...], leaves: int) -> tuple[Edit, ...]:
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
    files: SkillFiles | None = None
    """What may be edited besides SKILL.md."""

    async def merge(self, patches: Sequence[Patch]) -> Merged[Edit]:
        """The whole tree; of edits that overlap in the skill, the one with most support stays."""
        form = replace(EDITS, schema=schemas(self.files).merge)
        how = (self.skill, self.budget, self.batch, self.step, self.meta_skill, self.files)
        tree = MergeTree(form, self.optimizer, *how)
        merged = await tree.merge(patches)
        if merged.patch is None:
            return merged
        edits, notes = apart(self.skill, merged.patch.edits)
        return replace(merged, patch=replace(merged.patch, edits=edits)).noting(*notes)


def apart(skill: Skill, edits: Sequence[Edit]) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """The edits whose places do not overlap in the skill, and a note for each one dropped.

    The one with less support goes, of equals the later one. Two insertions below the same line take nothing from each
    other: both stay.
    """
    try:
        grounds = Grounds(skill)
    except SkillError:  # `apply` says what is wrong with the skill
        return tuple(edits), ()
    claimed = [grounds.claims(edit) for edit in edits]
    taken: dict[int, tuple[Claim, ...]] = {}
    notes: list[str] = []
    for index in sorted(range(len(edits)), key=lambda index: (-edits[index].support, index)):
        claims = claimed[index]
        other = next((at for at, known in taken.items() if clash(claims, known)), None)
        if other is None:
            taken[index] = claims
            continue
        edit, kept = edits[index], edits[other]
        notes.append(
            f"dropped {edit.op} {_brief(edit)} (support {edit.support}): it overlaps with {kept.op} {_brief(kept)}"
            f" (support {kept.support})"
        )
    return tuple(edit for at, edit in enumerate(edits) if at in taken), tuple(notes)


def _brief(edit: Edit) -> str:
    words = " ".join(edit.target.split()) or edit.file
    where = f" in {edit.file}" if edit.file not in (SKILL_FILE, words) else ""
    return f"«{words if len(words) <= 60 else words[:59] + '…'}»{where}"
