"""The body of a pull or merge request: what a person needs to say yes or no, and how to check it.

Pure. Texts of models and traces go through `markdown.prose` or `markdown.fence`, everything else is honed's own. The
body never has more than `limit` bytes: excerpts go first, then the diff is cut, then alternatives and edits go, each
with a word.
"""

from __future__ import annotations

import difflib

from skills_repo.history import SkillCommit
from skills_repo.message import place_of
from skills_repo.publish import parts
from skills_repo.publish.block import write_block
from skills_repo.publish.facts import Facts
from skills_repo.publish.markdown import details, fence
from skills_repo.publish.proposal import Proposal
from skills_repo.skill import Skill

BLOCK_VERSION = 1
MAX_BLOCK_EDITS = 60
_ROOM = ((60, 12, 6), (60, 12, 0), (30, 6, 0), (12, 3, 0), (4, 0, 0), (1, 0, 0))
"""Edits, alternatives and excerpts shown, the most that fits first."""
_CUT = "\n[the rest is cut: see the branch]"
_CONTEXT = 3
_SPARE = 800
"""Bytes for what holds the parts together, and for the word about those left out."""


def render(proposal: Proposal, facts: Facts, limit: int) -> str:
    """The body, at most `limit` bytes of UTF-8 (at least 8,000)."""
    whole = _size("\n\n".join(_diff_part(proposal, limit)))
    for room_for in _ROOM:
        head, tail = _around_diff(proposal, facts, *room_for)
        room = limit - _size(head) - _size(tail) - _SPARE
        if room >= (whole if room_for[2] else 0):
            break
    else:
        head, tail, room = write_block(block_data(proposal)), parts.reproduce(proposal), 0
        room_for = (0, 0, 0)
    shown = _diff_part(proposal, room)
    parts_of = (
        ("the change as text", shown, whole),
        ("the edits", room_for[0], proposal.commits),
        ("rejected alternatives", room_for[1], facts.rejected),
        ("trace excerpts", room_for[2], facts.excerpts),
    )
    gone = [name for name, there, wanted in parts_of if wanted and not there]
    return "\n\n".join([head, *shown, tail, *parts.left_out(gone)]) + "\n"


def _around_diff(proposal: Proposal, facts: Facts, edits: int, alternatives: int, excerpts: int) -> tuple[str, str]:
    head = [
        write_block(block_data(proposal)),
        parts.verdict(proposal),
        *parts.review(proposal),
        parts.figures_table(proposal, facts),
        *parts.tasks(proposal, facts),
        *parts.edits(proposal, edits),
    ]
    tail = [
        *parts.rejected(facts, alternatives),
        *parts.excerpts(facts, excerpts),
        parts.sizes(proposal),
        parts.versions(proposal, facts),
        parts.reproduce(proposal),
    ]
    return "\n\n".join(head), "\n\n".join(tail)


def block_data(proposal: Proposal) -> dict[str, object]:
    """What machines read, `publish.block.read_block` among them."""
    return {
        "version": BLOCK_VERSION,
        "skill": proposal.skill_path,
        "base": proposal.base,
        "head": proposal.head,
        "before": proposal.before.digest,
        "after": proposal.after.digest,
        "runs": list(dict.fromkeys(run for run, _, _ in proposal.places)),
        "edits": [_edit_row(commit) for commit in proposal.edits[:MAX_BLOCK_EDITS]],
        "risks": sorted({str(risk.kind) for risk in proposal.risks}),
    }


def _edit_row(commit: SkillCommit) -> dict[str, object]:
    place = place_of(commit.trailers)
    row: dict[str, object] = {"commit": commit.sha, "step": None if place is None else place[1]}
    row["op"] = commit.trailers.get("Honed-Op")
    return {**row, "file": commit.trailers["Honed-File"]} if "Honed-File" in commit.trailers else row


def _diff_part(proposal: Proposal, room: int) -> list[str]:
    whole = diff(proposal.before, proposal.after)
    if room < 200 or not whole:
        return []
    shown = fence(whole, "diff")
    if _size(shown) > room:
        shown = fence(whole.encode()[: max(0, room // 2)].decode("utf-8", "ignore") + _CUT, "diff")
    return [details("The change, as text", shown)]


def diff(before: Skill, after: Skill) -> str:
    """A unified diff of the skill's text files; other files by name."""
    shown: list[str] = []
    for path in sorted(before.files.keys() | after.files.keys()):
        old, new = before.files.get(path, b""), after.files.get(path, b"")
        if old == new:
            continue
        try:
            a, b = (side.decode("utf-8").splitlines() for side in (old, new))
        except UnicodeDecodeError:
            shown.append(f"{path}: {len(old)} bytes before, {len(new)} bytes after")
            continue
        shown += difflib.unified_diff(a, b, f"a/{path}", f"b/{path}", lineterm="", n=_CONTEXT)
    return "\n".join(shown)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
