"""From what a model proposes to edits of ours: bounded, and with evidence that is really the minibatch's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from daemon.optimizer.replies import MergedEdit, Pattern, ProposedEdit
from daemon.optimizer.replies_files import FileEdit, MergedFileEdit, MergedReferenceEdit, ReferenceEdit
from daemon.optimizer.skill_files import told
from skills_repo.edits import REFERENCE_OPS, Edit, Op
from skills_repo.skill import SKILL_FILE

P = TypeVar("P")

Source = Literal["failures", "successes", "both"]

_MAX_PATTERNS = 12
_MAX_COUNT = 100_000
_MAX_DESCRIPTION = 300
_MAX_REMEMBERED = 2_000


@dataclass(frozen=True)
class Proposals(Generic[P]):
    """What belongs together: proposed by one minibatch, or merged from several. `P` is an edit in patch mode."""

    source: Source
    edits: tuple[P, ...]
    ids: tuple[str, ...]
    """Every task id shown to its minibatches, ordered."""
    leaves: int = 1
    """How many minibatches are in it: nothing in it has more support than that."""


Patch = Proposals[Edit]


def shown(edit: Edit) -> dict[str, Any]:
    """An edit as JSON-able data for prompts."""
    return {
        "op": edit.op.value,
        **told(edit),
        "target": edit.target,
        "content": edit.content,
        "rationale": edit.rationale,
        "support": edit.support,
        "evidence": list(edit.evidence),
    }


def remembered(edit: Edit) -> dict[str, Any]:
    """An edit as later reflections are shown it: of a rewrite what it was for, of long text the beginning."""
    content = edit.rationale if edit.op is Op.REWRITE else edit.content
    if len(content) > _MAX_REMEMBERED:
        content = content[: _MAX_REMEMBERED - 1] + "…"
    return {"op": edit.op.value, **told(edit), "target": edit.target, "content": content}


def to_edit(proposed: ProposedEdit | FileEdit | ReferenceEdit, ids: Iterable[str], leaves: int = 1) -> Edit:
    """An `Edit` whose evidence lies within `ids` and whose support lies within 1..`leaves`."""
    support = 1
    if isinstance(proposed, MergedEdit | MergedFileEdit | MergedReferenceEdit):
        support = proposed.support
    op = Op(proposed.op)
    return Edit(
        op=op,
        target=proposed.target,
        content=proposed.content,
        rationale=proposed.rationale,
        support=within(support, leaves),
        evidence=own(proposed.evidence, ids),
        file=SKILL_FILE if isinstance(proposed, ProposedEdit) else plain_file(proposed.file),
        link=proposed.link if isinstance(proposed, ReferenceEdit) and op in REFERENCE_OPS else "",
    )


def plain_file(named: str) -> str:
    """The path as files of a skill are named; a model that names none means SKILL.md."""
    return named.strip().removeprefix("./") or SKILL_FILE


def own(evidence: Iterable[str], ids: Iterable[str]) -> tuple[str, ...]:
    """The named task ids that were really shown, each once, ordered."""
    return tuple(sorted(set(evidence) & set(ids)))


def within(support: int, leaves: int) -> int:
    """A claimed support, bounded by how many minibatches there were."""
    return max(1, min(support, leaves))


def normalised(edit: Edit) -> tuple[str, str, str, str]:
    """What makes two edits the same: file, op, target and content, spaces and letter case of the texts aside."""
    return edit.file, edit.op.value, folded(edit.target), folded(edit.content)


def folded(text: str) -> str:
    """Text with spaces and letter case aside."""
    return " ".join(text.split()).casefold()


def unite_patterns(groups: Iterable[Sequence[Pattern]]) -> tuple[Pattern, ...]:
    """One row a type with summed counts, most frequent first; bounded, since a model wrote them."""
    rows: dict[str, Pattern] = {}
    for pattern in (pattern for group in groups for pattern in group):
        kind = " ".join(pattern.type.split())[:_MAX_DESCRIPTION]
        count = min(max(0, pattern.count) + (rows[kind].count if kind in rows else 0), _MAX_COUNT)
        description = rows[kind].description if kind in rows else " ".join(pattern.description.split())
        rows[kind] = Pattern(type=kind, count=count, description=description[:_MAX_DESCRIPTION])
    return tuple(sorted(rows.values(), key=lambda row: (-row.count, row.type))[:_MAX_PATTERNS])
