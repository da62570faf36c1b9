"""What an edit asks for, before any place is looked for: its form, and what its content may not carry.

Values come from a model: annotations promise nothing here.
"""

from __future__ import annotations

import re
from typing import Any

from skills_repo import guarded
from skills_repo.edit import PATCH_OPS, REFERENCE_OPS, Edit, EditLimits, EditStatus, Op, RefusedError
from skills_repo.hidden import find_hidden
from skills_repo.skill import SKILL_FILE

MAX_FILE_NAME = 1_000
_FRONTMATTER = re.compile(
    r"\s*(?:```[\w-]*[ \t]*\n\s*)?---[ \t]*\n(?P<yaml>(?:(?!---[ \t]*(?:\n|\Z)).*\n)*)---[ \t]*(?:\n|\Z)"
)
_KEYS = re.compile(r"^(?:name|description)[ \t]*:", re.MULTILINE)
_FENCED = re.compile(r"\s*(`{3,}|~{3,})[^\n`]*\n(?P<inside>.*)\n\1\s*", re.DOTALL)
_THOUGHTS = re.compile(r"</?\s*think(?:ing)?\s*>", re.IGNORECASE)


def check_form(edit: Any, limits: EditLimits) -> None:
    """Types and combinations; raises `RefusedError`."""
    if not isinstance(edit, Edit):
        raise RefusedError(EditStatus.MALFORMED, "not an edit")
    for name in ("op", "target", "content", "rationale", "file", "link"):
        if not isinstance(getattr(edit, name), str):
            raise RefusedError(EditStatus.MALFORMED, f"{name} is not text")
    evidence = edit.evidence
    if not isinstance(evidence, tuple | list) or not all(isinstance(task, str) for task in evidence):
        raise RefusedError(EditStatus.MALFORMED, "evidence is no list of task ids")
    if not isinstance(edit.support, int):
        raise RefusedError(EditStatus.MALFORMED, "support is no number")
    if edit.op not in list(Op):
        raise RefusedError(EditStatus.MALFORMED, "unknown op")
    if edit.op not in PATCH_OPS | limits.also:
        raise RefusedError(EditStatus.NOT_ALLOWED, f"{edit.op} is not for this step")
    _check_parts(edit)


def _check_parts(edit: Edit) -> None:
    if len(edit.file) > MAX_FILE_NAME:
        raise RefusedError(EditStatus.MALFORMED, f"file has more than {MAX_FILE_NAME} characters")
    if edit.op in (Op.INSERT_AFTER, Op.REPLACE, Op.DELETE) and not edit.target.strip():
        raise RefusedError(EditStatus.MALFORMED, f"{edit.op} needs a target")
    if edit.op in (Op.APPEND, Op.INSERT_AFTER, Op.CREATE) and not edit.content.strip():
        raise RefusedError(EditStatus.MALFORMED, f"{edit.op} needs content")
    if edit.op in (Op.DELETE, Op.REMOVE) and edit.content:
        raise RefusedError(EditStatus.MALFORMED, f"{edit.op} takes no content: use replace")
    if edit.link and edit.op not in REFERENCE_OPS:
        raise RefusedError(EditStatus.MALFORMED, f"{edit.op} takes no link")
    if edit.op in (Op.REWRITE, Op.SLOW_UPDATE, *REFERENCE_OPS) and (edit.file == SKILL_FILE) == (
        edit.op in REFERENCE_OPS
    ):
        raise RefusedError(EditStatus.MALFORMED, f"{edit.op} is not for {edit.file}")
    if edit.op in (Op.REWRITE, Op.SLOW_UPDATE) and edit.target:
        raise RefusedError(EditStatus.MALFORMED, f"{edit.op} takes no target")
    if edit.op == Op.REWRITE and not edit.content.strip():
        raise RefusedError(EditStatus.DELETES_DOCUMENT, "the new body is empty")


def check_content(edit: Edit, limits: EditLimits) -> None:
    """Size, and what no content may carry; raises `RefusedError`."""
    _check_text(edit.content, _most(edit.op, limits), "content", _NOUN.get(edit.op, "edit"))
    _check_text(edit.link, limits.max_link_chars, "link", "link")
    if edit.op in (Op.REWRITE, Op.CREATE) and is_one_fence(edit.content):
        what = "body" if edit.op == Op.REWRITE else "file"
        raise RefusedError(EditStatus.MALFORMED, f"the whole {what} is one code fence: give the text itself")


def _check_text(text: str, most: int, name: str, noun: str) -> None:
    if len(text) > most:
        raise RefusedError(EditStatus.TOO_LARGE, f"{len(text)} of {most} characters for one {noun}")
    hidden = find_hidden(text)
    if hidden is not None:
        raise RefusedError(EditStatus.HIDDEN_CHARACTERS, f"{hidden[1]} in line {hidden[0]} of the {name}")
    if guarded.MARK in text.lower():
        raise RefusedError(EditStatus.TOUCHES_GUARDED, f"the {name} carries a marker of the guarded region")
    if carries_frontmatter(text):
        raise RefusedError(EditStatus.TOUCHES_FRONTMATTER, f"the {name} carries frontmatter of its own")
    if _THOUGHTS.search(text):
        raise RefusedError(EditStatus.MALFORMED, f"the {name} carries a thinking block")


_NOUN = {Op.REWRITE: "body", Op.SLOW_UPDATE: "guarded region", Op.CREATE: "file"}


def _most(op: Op, limits: EditLimits) -> int:
    if op == Op.REWRITE:
        return limits.max_skill_chars
    if op == Op.CREATE:
        return limits.max_reference_chars
    return limits.max_guarded_chars if op == Op.SLOW_UPDATE else limits.max_edit_chars


def carries_frontmatter(content: str) -> bool:
    """The content begins with a `---` block that names a skill, fenced as code or not."""
    found = _FRONTMATTER.match(content.replace("\r\n", "\n"))
    return found is not None and _KEYS.search(found["yaml"]) is not None


def is_one_fence(content: str) -> bool:
    """Nothing but one code block: a document wrapped up instead of given."""
    found = _FENCED.fullmatch(content.replace("\r\n", "\n"))
    return found is not None and found[1] not in found["inside"]
