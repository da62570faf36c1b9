"""One of honed's commits made again on another version of the skill. Pure, apart from the merge's temporary folder.

Invariants: what a person changed is never undone by it: an edit that no longer fits is dropped whole, with the reason;
the message stays as it was but for the base's digest and a trailer that names the commit it was made from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from skills_repo.edit import PATCH_OPS, REFERENCE_OPS, Edit, EditLimits, EditStatus
from skills_repo.edits import apply
from skills_repo.history import SkillCommit
from skills_repo.likeness import changes, folded
from skills_repo.merging import merge
from skills_repo.recover import recovered_edit
from skills_repo.references import broken_rule
from skills_repo.skill import MAX_BYTES, SKILL_FILE, Skill, SkillError
from skills_repo.validate import validate

REBASED_FROM = "Honed-Rebased-From"
STANDS = "it stands there already"
GONE = {
    EditStatus.TARGET_MISSING: "its place is gone",
    EditStatus.TARGET_AMBIGUOUS: "its place is not certain any more",
}


class DroppedError(Exception):
    """The edit is not made again; `str()` says why, in one line."""


def replay(commit: SkillCommit, before: Skill, after: Skill, onto: Skill, *, max_chars: int) -> Skill:
    """`onto` with what the commit changed between `before` and `after`; raises `DroppedError`.

    As git merges it; where git sees a conflict (two texts at one place), by the edit's own anchor.
    """
    if _stands(before, after, onto):
        raise DroppedError(STANDS)
    merged = merge(before.files, onto.files, after.files)
    edit = recovered_edit(commit, before, after)
    if merged.conflicts:
        return _applied(edit, before, after, onto, max_chars)
    skill = _merged(onto, merged.files, max_chars)
    broken = broken_rule(onto, skill) if edit.op in REFERENCE_OPS else None
    if broken is not None:
        raise DroppedError(broken[1])
    return skill


def again(message: str, *, base: str, commit: str) -> str:
    """The message for the commit made again on the skill with the digest `base`."""
    head, _, paragraph = message.rstrip("\n").rpartition("\n\n")
    lines = [line for line in paragraph.split("\n") if not line.startswith(f"{REBASED_FROM}:")]
    lines = [re.sub(r"^(Honed-Base:).*", lambda found: f"{found[1]} {base}", line) for line in lines]
    return f"{head}\n\n" + "\n".join([*lines, f"{REBASED_FROM}: {commit}"]) + "\n"


def _stands(before: Skill, after: Skill, onto: Skill) -> bool:
    """A person took the edit over, by a squash or by hand: git would see a conflict, or add it a second time."""
    found = changes(before, after)
    added = {line for change in found for line in change.added}
    removed = {line for change in found for line in change.removed}
    old, now = (_lines(skill) for skill in (before, onto))
    return bool(added or removed) and added <= now - old and not removed & (now - added)


def _lines(skill: Skill) -> frozenset[str]:
    texts = (data.decode("utf-8", "replace") for data in skill.files.values())
    return frozenset(folded(line) for text in texts for line in text.split("\n"))


def _applied(edit: Edit, before: Skill, after: Skill, onto: Skill, max_chars: int) -> Skill:
    """By the edit's own anchor; only what was one edit of its file (a reference's: and of its link) can be."""
    paths = {
        path for path in before.files.keys() | after.files.keys() if before.files.get(path) != after.files.get(path)
    }
    own = {edit.file, SKILL_FILE} if edit.op in REFERENCE_OPS else {edit.file}
    if edit.op not in PATCH_OPS | REFERENCE_OPS or not paths <= own or not (edit.target or edit.content):
        raise DroppedError("a person changed what it changed")
    limits = EditLimits(
        1,
        max_chars,
        max_edit_chars=MAX_BYTES,
        editable=(edit.file,),
        references=edit.op in REFERENCE_OPS,
        max_reference_chars=MAX_BYTES,
        max_link_chars=MAX_BYTES,
        also=REFERENCE_OPS,
    )
    applied = apply(onto, [edit], limits)
    if not applied.stages:
        [row] = applied.report.rows
        raise DroppedError(GONE.get(row.status, row.status.explanation.rstrip(".").lower()))
    return applied.result


def _merged(onto: Skill, files: Mapping[str, bytes], max_chars: int) -> Skill:
    """The skill that a merge made; it must be a valid one."""
    skill = onto
    try:
        for path in sorted(onto.files.keys() | files.keys()):
            if onto.files.get(path) != files.get(path):
                skill = skill.with_file(path, files.get(path))
        validate(skill)
    except SkillError as error:
        raise DroppedError(f"the skill would not be valid: {error}") from error
    if skill.digest == onto.digest:
        raise DroppedError(STANDS)
    if len(skill.text) > max_chars and len(skill.text) > len(onto.text):
        raise DroppedError(f"SKILL.md would have {len(skill.text)} of {max_chars} characters")
    return skill
