"""What following a person's change came to, as data and as the annotated tag that remembers it in git.

The tag stands at `refs/honed/rebased/<skill>/<short id>` and points to the branch as it was before, so nothing is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

from skills_repo.git import GitFailedError
from skills_repo.refs import Refs

KEPT = "refs/honed/rebased"
_TAGGER = "honed <honed@localhost>"
_SHORT = 12


@dataclass(frozen=True)
class Again:
    """What became of one of honed's commits."""

    old: str
    subject: str
    new: str = ""
    """Empty: it was dropped."""
    why: str = ""
    """It was dropped: why."""


@dataclass(frozen=True)
class Followed:
    """What was done, or what it waits for."""

    old: str
    """The branch before."""
    onto: str
    """HEAD's commit."""
    new: str
    """The branch now."""
    edits: tuple[Again, ...] = ()
    """Oldest first."""
    waits: str = ""
    """Nothing was done: one sentence, with the commands that mend it."""

    def kept_at(self, branch: str) -> str:
        """The ref that keeps the branch as it was."""
        return kept_ref(branch, self.old)


def kept_ref(branch: str, old: str) -> str:
    """The ref that keeps what the branch was."""
    return f"{KEPT}/{branch.rsplit('/', 1)[1]}/{old[:_SHORT]}"


def told(done: Followed, when: float) -> str:
    """An annotated tag that says what was done, in git's own format; fields with tabs between."""
    rows: list[tuple[str, ...]] = [("onto", done.onto), ("new", done.new)]
    rows += [("made" if one.new else "dropped", one.old, one.new or one.why, one.subject) for one in done.edits]
    lines = "\n".join("\t".join(" ".join(part.split()) for part in row) for row in rows)
    return (
        f"object {done.old}\ntype commit\ntag rebased-{done.old[:_SHORT]}\ntagger {_TAGGER} {int(when)} +0000\n\n"
        f"honed made its unpublished edits again on a person's version\n\n{lines}\n"
    )


def followed_to(refs: Refs, base: str) -> Followed | None:
    """What led the branch to this commit, as the kept ref tells it; None if nothing did."""
    pattern = kept_ref(refs.branch, "")
    for ref in refs.git.line("for-each-ref", "--format=%(refname)", pattern).split():
        found = _read(refs, ref)
        if found is not None and found.new == base:
            return found
    return None


def _read(refs: Refs, ref: str) -> Followed | None:
    """What one ref tells; None where it is no tag of honed's: anybody can write there."""
    try:
        return _told(refs.git.line("cat-file", "tag", ref))
    except (GitFailedError, KeyError):
        return None


def _told(tag: str) -> Followed:
    """The same, read back; raises `KeyError` where something is missing."""
    rows = [line.split("\t") for line in tag.split("\n")]
    facts = {row[0]: row[1] for row in rows if len(row) == 2}
    edits = [
        Again(row[1], row[3], row[2]) if row[0] == "made" else Again(row[1], row[3], why=row[2])
        for row in rows
        if len(row) == 4
    ]
    return Followed(tag.split("\n", 1)[0].removeprefix("object "), facts["onto"], facts["new"], tuple(edits))
