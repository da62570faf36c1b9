"""An edit worked out again from its commit: what it did by whole lines, and what its message tells.

An approximation: the commit holds what came of the edit, not the anchor that the optimizer gave.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from urllib.parse import unquote

from skills_repo import guarded, rewriting
from skills_repo.edits import REFERENCE_OPS, Edit, Op
from skills_repo.history import SkillCommit
from skills_repo.message import FAILURES
from skills_repo.skill import SKILL_FILE, Skill, SkillError

MAX_LINES = 8_000
_WHY = re.compile(r"Why, in the optimizer's words:\n\n((?:  .*\n?)+)")
_FAILURE = re.compile(r"^  - (.*(?:\n    .*)*)", re.MULTILINE)
_SUPPORT = re.compile(r"^(\d{1,4}) reflections asked for it\.$", re.MULTILINE)


def recovered_edit(commit: SkillCommit, before: Skill | None, after: Skill | None) -> Edit:
    """The edit of one of honed's commits, in whatever file, between the skill before and after it (None: not known)."""
    file = unquote(commit.trailers.get("Honed-File", SKILL_FILE))
    old, new = (_text(skill, file) for skill in (before, after))
    edit = replace(recovered(commit, old, new), file=file)
    if edit.op not in REFERENCE_OPS:
        return edit
    kind = Op.INSERT_AFTER if edit.op is Op.CREATE else Op.REPLACE
    target, link = _change(kind, _text(before, SKILL_FILE), _text(after, SKILL_FILE))
    return replace(edit, target=target, content=new if edit.op is Op.CREATE else "", link=link)


def _text(skill: Skill | None, file: str) -> str:
    return "" if skill is None else skill.files.get(file, b"").decode("utf-8", "replace")


def recovered(commit: SkillCommit, before: str, after: str) -> Edit:
    """The edit of one of honed's commits, between SKILL.md before and after it (empty: not known)."""
    op = commit.trailers.get("Honed-Op", "")
    kind = Op(op) if op in list(Op) else Op.REPLACE
    target, content = _change(kind, before, after)
    why, support = _WHY.search(commit.body), _SUPPORT.search(commit.body)
    return Edit(
        kind,
        target=target,
        content=content,
        rationale=" ".join(why[1].split()) if why else "",
        support=int(support[1]) if support else 1,
        evidence=tuple(task for task in commit.trailers.get("Honed-Evidence", "").split() if not task.startswith("+")),
    )


def failures(commit: SkillCommit) -> tuple[str, ...]:
    """The failures that its step set out from, as its message tells them."""
    _, _, told = commit.body.partition(f"{FAILURES}\n")
    return tuple(" ".join(found.split()) for found in _FAILURE.findall(told))


def _change(op: Op, before: str, after: str) -> tuple[str, str]:
    """Target and content."""
    if op in (Op.REWRITE, Op.SLOW_UPDATE):
        return "", _written(op, after)
    old, new = (text.replace("\r\n", "\n").split("\n") for text in (before, after))
    if max(len(old), len(new)) > MAX_LINES:
        return "", ""
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = [code for code in codes if code[0] != "equal"]
    if not changed:
        return "", ""
    start, end, first, last = changed[0][1], changed[-1][2], changed[0][3], changed[-1][4]
    removed, added = "\n".join(old[start:end]).strip("\n"), "\n".join(new[first:last]).strip("\n")
    above = old[start - 1] if start else ""
    return {Op.APPEND: ("", added), Op.INSERT_AFTER: (above, added), Op.DELETE: (removed, "")}.get(op, (removed, added))


def _written(op: Op, after: str) -> str:
    """The new body, or the new text of the guarded region."""
    try:
        return (rewriting.written(after) if op is Op.REWRITE else guarded.read(after)).strip()
    except SkillError:
        return ""
