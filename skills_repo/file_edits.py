"""Edits of a skill's other files: text changed in place, references made and taken away together with their links.

Everything that cannot be done raises `RefusedError`. Bytes outside an edit stay, a byte order mark among them.
"""

from __future__ import annotations

from dataclasses import replace

from skills_repo import rewriting
from skills_repo.anchors import Ground
from skills_repo.body_edits import edited_body, ground_of, with_body_text
from skills_repo.edit import Edit, EditLimits, EditStatus, Op, RefusedError
from skills_repo.paths import inner_skill
from skills_repo.placing import placed
from skills_repo.references import is_reference, mentions, mentions_path, wrong_name
from skills_repo.skill import MAX_FILES, SKILL_FILE, Skill, text_of

MOST_LINES = 6
"""Lines of SKILL.md that go with a reference, where no target says what is to go."""


def edited_file(base: Skill, skill: Skill, edit: Edit, limits: EditLimits) -> Skill:
    """The skill with another text file edited. `base` is what the step's first edit met."""
    before = _text(skill, edit.file, limits)
    ground = Ground(before, whole=True)
    place, new = placed(ground, edit)
    after = ground.view.spliced(place.start, place.end, new)
    if after == before:
        raise RefusedError(EditStatus.NO_CHANGE)
    if len(after) > limits.max_reference_chars and len(after) >= len(before):
        raise RefusedError(EditStatus.TOO_LARGE, _size(edit.file, len(after), limits))
    was = base.files.get(edit.file, skill.files[edit.file]).decode("utf-8", "replace")
    rewriting.check_file_left(was, before, after)
    return skill.with_file(edit.file, after.encode("utf-8"))


def created(base: Skill, skill: Skill, edit: Edit, limits: EditLimits) -> Skill:
    """The skill with a new reference, and its link in SKILL.md where that does not name it yet."""
    _check_new(skill, edit.file)
    content = rewriting.trimmed(edit.content.replace("\r\n", "\n")) + "\n"
    if len(content) > limits.max_reference_chars:
        raise RefusedError(EditStatus.TOO_LARGE, _size(edit.file, len(content), limits))
    if edit.link.strip():
        if edit.file not in mentions(edit.link):
            raise RefusedError(EditStatus.NOT_LINKED, f"link does not name {edit.file}")
        op = Op.INSERT_AFTER if edit.target.strip() else Op.APPEND
        skill = edited_body(base, skill, replace(edit, op=op, content=edit.link, file=SKILL_FILE, link=""), limits)
    return skill.with_file(edit.file, content.encode("utf-8"))


def removed(base: Skill, skill: Skill, edit: Edit, limits: EditLimits) -> Skill:
    """The skill without a reference, and without what names it in SKILL.md."""
    if not is_reference(edit.file):
        raise RefusedError(EditStatus.NOT_EDITABLE, "only files references/*.md can go")
    _text(skill, edit.file, limits)
    if links := sorted(link for link, to in skill.links.items() if to == edit.file):
        raise RefusedError(EditStatus.NOT_EDITABLE, f"{links[0]} is a link to it")
    return _without_link(base, skill, edit, limits).with_file(edit.file, None)


def _without_link(base: Skill, skill: Skill, edit: Edit, limits: EditLimits) -> Skill:
    if edit.target.strip():
        op = Op.REPLACE if edit.link.strip() else Op.DELETE
        return edited_body(base, skill, replace(edit, op=op, content=edit.link, file=SKILL_FILE, link=""), limits)
    ground = ground_of(skill)
    places = ground.lines(lambda line: mentions_path(line, edit.file))
    if not places:
        return skill
    long = max(place.end - place.start for place in places)
    if len(places) > MOST_LINES or long > limits.max_link_chars:
        detail = f"{len(places)} lines name it, with up to {long} characters: give what is to go as target"
        raise RefusedError(EditStatus.TOO_LARGE, detail)
    after = ground.view.original
    for place in reversed(places):
        after = after[: ground.view.at(place.start)] + after[ground.view.at(place.end) :]
    return with_body_text(base, skill, after, Op.DELETE, limits)


def _check_new(skill: Skill, file: str) -> None:
    if any(file.lower() == known.lower() for known in skill.files):
        raise RefusedError(EditStatus.FILE_EXISTS, file)
    if wrong := wrong_name(file, skill.files):
        raise RefusedError(EditStatus.BAD_FILE_NAME, wrong)
    if len(skill.files) >= MAX_FILES:
        raise RefusedError(EditStatus.TOO_LARGE, f"the folder would have more than {MAX_FILES} files")


def _text(skill: Skill, file: str, limits: EditLimits) -> str:
    """The text of a file that may be edited."""
    if not limits.allows(file):
        raise RefusedError(EditStatus.NOT_EDITABLE, "[skill] editable does not name it")
    if inner := inner_skill(file, skill.files):
        raise RefusedError(EditStatus.NOT_EDITABLE, f"it belongs to the skill {inner} inside this one")
    if file not in skill.files:
        raise RefusedError(EditStatus.FILE_MISSING, f"there is no {file}")
    if file in skill.links:
        raise RefusedError(EditStatus.NOT_EDITABLE, f"it is a link to {skill.links[file]}")
    text = text_of(skill.files[file])
    if text is None:
        raise RefusedError(EditStatus.NOT_TEXT)
    return text


def _size(file: str, chars: int, limits: EditLimits) -> str:
    return f"{file} would have {chars} of {limits.max_reference_chars} characters"
