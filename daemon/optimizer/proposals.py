"""From what a model proposes to edits of ours: bounded, and with evidence that is really the minibatch's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from daemon.optimizer.replies import MergedEdit, Pattern, ProposedEdit
from skills_repo.edits import Edit, Op

Source = Literal["failures", "successes", "both"]

_MAX_PATTERNS = 12
_MAX_DESCRIPTION = 300


@dataclass(frozen=True)
class Patch:
    """Edits that belong together: of one minibatch, or merged from several."""

    source: Source
    edits: tuple[Edit, ...]
    ids: tuple[str, ...]
    """Every task id shown to its minibatches, ordered."""
    leaves: int = 1
    """How many minibatch patches are in it: no edit has more support than that."""

    def shown(self) -> dict[str, Any]:
        """As it is put before the optimizer."""
        return {"source": self.source, "edits": [shown(edit) for edit in self.edits]}


def shown(edit: Edit) -> dict[str, Any]:
    """An edit as JSON-able data for prompts."""
    return {
        "op": edit.op.value,
        "target": edit.target,
        "content": edit.content,
        "rationale": edit.rationale,
        "support": edit.support,
        "evidence": list(edit.evidence),
    }


def to_edit(proposed: ProposedEdit, ids: Iterable[str], leaves: int = 1) -> Edit:
    """An `Edit` whose evidence lies within `ids` and whose support lies within 1..`leaves`."""
    support = proposed.support if isinstance(proposed, MergedEdit) else 1
    evidence = tuple(sorted(set(proposed.evidence) & set(ids)))
    return Edit(
        op=Op(proposed.op),
        target=proposed.target,
        content=proposed.content,
        rationale=proposed.rationale,
        support=max(1, min(support, leaves)),
        evidence=evidence,
    )


def normalised(edit: Edit) -> tuple[str, str, str]:
    """What makes two edits the same: op, target and content, spaces and letter case aside."""
    return edit.op.value, " ".join(edit.target.split()).casefold(), " ".join(edit.content.split()).casefold()


def unite_patterns(groups: Iterable[Sequence[Pattern]]) -> tuple[Pattern, ...]:
    """One row a type with summed counts, most frequent first; bounded, since a model wrote them."""
    rows: dict[str, Pattern] = {}
    for pattern in (pattern for group in groups for pattern in group):
        kind = " ".join(pattern.type.split())[:_MAX_DESCRIPTION]
        count = max(0, pattern.count) + (rows[kind].count if kind in rows else 0)
        description = rows[kind].description if kind in rows else " ".join(pattern.description.split())
        rows[kind] = Pattern(type=kind, count=count, description=description[:_MAX_DESCRIPTION])
    return tuple(sorted(rows.values(), key=lambda row: (-row.count, row.type))[:_MAX_PATTERNS])
