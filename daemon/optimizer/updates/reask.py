"""An edit that misses is sent back once with the reason; what misses again is skipped by `apply`, which says why.

A correction may place an edit anew (target, op, and its content accordingly); why it is there stays what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from daemon.optimizer.asking import Optimizer
from daemon.optimizer.prompts.render import render
from daemon.optimizer.proposals import plain_file
from daemon.optimizer.replies import CorrectedEdit, RepairBodyReply
from daemon.optimizer.replies_files import CorrectedFileEdit, CorrectedReferenceEdit, schemas
from daemon.optimizer.skill_files import SkillFiles, told
from sandboxes.gateway.policy import Usage
from skills_repo.edits import PATCH_OPS, REFERENCE_OPS, AppliedEdit, Edit, EditLimits, EditStatus, Op, apply
from skills_repo.rewriting import room
from skills_repo.skill import Skill

Corrected = CorrectedEdit | CorrectedFileEdit | CorrectedReferenceEdit

MENDABLE = frozenset(
    {
        EditStatus.TARGET_MISSING,
        EditStatus.TARGET_AMBIGUOUS,
        EditStatus.TOUCHES_FRONTMATTER,
        EditStatus.TOUCHES_GUARDED,
        EditStatus.TOO_LARGE,
        EditStatus.NOT_LINKED,
        EditStatus.DEAD_LINK,
        EditStatus.FILE_MISSING,
        EditStatus.FILE_EXISTS,
        EditStatus.BAD_FILE_NAME,
    }
)
"""What is worth a second try: the rule behind the edit may be good, only its place or size is not."""


_MOST_SHOWN = 24_000
"""Characters of an edit's content that are sent back: more than any skill holds by default."""


@dataclass(frozen=True)
class Repaired:
    """The edits to apply, in their old order, and what it took."""

    edits: tuple[Edit, ...]
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def among(self, proposed: Sequence[Edit], sent: Sequence[Edit]) -> tuple[Edit, ...]:
        """What was proposed, with each corrected edit in the place of the one that was `sent` in."""
        corrected = dict(zip(sent, self.edits, strict=True))
        return tuple(corrected.get(edit, edit) for edit in proposed)


def _never(edit: Edit) -> str:
    return ""


async def repaired(
    optimizer: Optimizer,
    skill: Skill,
    edits: Sequence[Edit],
    limits: EditLimits,
    place: str,
    *,
    refuse: Callable[[Edit], str] = _never,
) -> Repaired:
    """Send back the edits that miss, all in one request at `place`; no request if none does.

    A correction that `refuse` names a reason against is not taken: the edit stays as it was.
    """
    return await _Reask(optimizer, skill, tuple(edits), limits, place, refuse).run()


@dataclass(frozen=True)
class _Reask:
    optimizer: Optimizer
    skill: Skill
    edits: tuple[Edit, ...]
    limits: EditLimits
    place: str
    refuse: Callable[[Edit], str]

    async def run(self) -> Repaired:
        rows = apply(self.skill, self.edits, self.limits).report.rows
        missed = {index: row for index, row in enumerate(rows) if row.status in MENDABLE}
        for index, row in missed.items():
            if row.edit.op == Op.REWRITE:
                return await self._body(index, row)
        missed = {index: row for index, row in missed.items() if row.edit.op in PATCH_OPS | REFERENCE_OPS}
        return await self._patch(rows, missed) if missed else Repaired(self.edits)

    async def _patch(self, rows: Sequence[AppliedEdit], missed: Mapping[int, AppliedEdit]) -> Repaired:
        """All edits of a patch that missed, together."""
        files = SkillFiles.of(self.skill, self.limits)
        user = render(
            "repair.user.j2",
            skill=self.skill.text,
            files=files,
            room=None,
            edits=[_shown(index, row) for index, row in enumerate(rows)],
            missed=sorted(missed),
        )
        system = render("repair.system.j2", files=files)
        answer = await self.optimizer.ask(self.place, "repair", schemas(files).repair, system=system, user=user)
        if answer.reply is None:
            return Repaired(self.edits, (f"{answer.error}; edits that missed are skipped",), answer.usage)
        mended, notes = self._taken(missed, _edits(answer.reply))
        return Repaired(mended, (*notes, *self._outcome(mended, missed)), answer.usage)

    async def _body(self, index: int, row: AppliedEdit) -> Repaired:
        """A whole body that was refused."""
        user = render(
            "repair.user.j2",
            skill=self.skill.text,
            room=room(self.skill.text, self.limits.max_skill_chars),
            edits=[_shown(index, row)],
            missed=[index],
        )
        system = render("repair_body.system.j2")
        answer = await self.optimizer.ask(self.place, "repair_body", RepairBodyReply, system=system, user=user)
        if answer.reply is None:
            return Repaired(self.edits, (f"{answer.error}; the body is skipped",), answer.usage)
        edit = replace(row.edit, content=answer.reply.body)
        reason = self.refuse(edit)
        if reason:
            note = f"{self.place}: the corrected body is refused: {reason}"
            return Repaired(self.edits, (note,), answer.usage)
        mended = (*self.edits[:index], edit, *self.edits[index + 1 :])
        return Repaired(mended, tuple(self._outcome(mended, {index: row})), answer.usage)

    def _taken(
        self, missed: Mapping[int, AppliedEdit], corrections: Sequence[Corrected]
    ) -> tuple[tuple[Edit, ...], list[str]]:
        """The edits with the usable corrections in place; the first correction of an index counts."""
        mended, notes, seen = list(self.edits), [], set()  # type: list[Edit], list[str], set[int]
        foreign = 0
        for corrected in corrections:
            index = corrected.index
            if index not in missed or index in seen:
                foreign += 1
                continue
            seen.add(index)
            placed = _placed(self.edits[index], corrected)
            reason = self.refuse(placed)
            if reason:
                notes.append(f"{self.place}: the correction of edit {index} is refused: {reason}")
            else:
                mended[index] = placed
        if foreign:
            notes.append(f"{self.place}: {foreign} corrections are of edits that did not miss, or come again")
        return tuple(mended), notes

    def _outcome(self, mended: Sequence[Edit], missed: Mapping[int, AppliedEdit]) -> list[str]:
        """What became of each edit that was sent back, in words."""
        rows = apply(self.skill, mended, self.limits).report.rows
        return [
            f"{self.place}: edit {index} was sent back ({row.status}) and "
            + ("then applied" if rows[index].status is EditStatus.APPLIED else f"is skipped ({rows[index].status})")
            for index, row in sorted(missed.items())
        ]


def _edits(reply: Any) -> Sequence[Corrected]:
    """Of whichever schema was asked for."""
    edits: Sequence[Corrected] = reply.edits
    return edits


def _placed(edit: Edit, corrected: Corrected) -> Edit:
    """The edit where its correction puts it."""
    op = Op(corrected.op)
    edit = replace(edit, op=op, target=corrected.target, content=corrected.content)
    if isinstance(corrected, CorrectedFileEdit | CorrectedReferenceEdit):
        edit = replace(edit, file=plain_file(corrected.file))
    if isinstance(corrected, CorrectedReferenceEdit) and op in REFERENCE_OPS:
        return replace(edit, link=corrected.link)
    return replace(edit, link="")


def _cut(content: str) -> str:
    """What is far too long is not paid for whole once more."""
    more = len(content) - _MOST_SHOWN
    return content if more <= 0 else f"{content[:_MOST_SHOWN]}… ({more} characters more)"


def _shown(index: int, row: AppliedEdit) -> dict[str, Any]:
    """An edit with what became of it, for the prompt."""
    edit = row.edit
    return {
        "index": index,
        "op": str(edit.op),
        **told(edit),
        "target": edit.target,
        "content": _cut(edit.content),
        "status": str(row.status),
        "reason": f"{row.status.explanation} ({row.detail})" if row.detail else row.status.explanation,
    }
