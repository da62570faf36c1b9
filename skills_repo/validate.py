"""SKILL.md against the open specification (agentskills.io): what is wrong raises, what is doubtful warns.

Invariant: a skill that passes is read by Codex, Claude Code and the specification's own validator alike.
"""

from __future__ import annotations

import posixpath
import re

from skills_repo import frontmatter, guarded
from skills_repo.hidden import find_hidden
from skills_repo.skill import SKILL_FILE, Skill, SkillError

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_NAME = 64
MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
ADVISED_LINES = 500
ADVISED_CHARS = 20_000
"""About 5,000 tokens: what the specification recommends for the body."""
KNOWN_KEYS = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_LFS = b"version https://git-lfs.github.com/spec/"
_LINK = re.compile(r"\]\(([^)\s#:]+)\)")


def validate(skill: Skill) -> tuple[str, ...]:
    """Check the whole skill; returns warnings, one plain line each, and raises `SkillError` for what is not valid."""
    try:
        text = skill.text
    except UnicodeDecodeError as error:
        raise SkillError("is not UTF-8", remedy="save it as UTF-8 without BOM") from error
    parts = frontmatter.split(text)
    front = frontmatter.parse(parts.frontmatter)
    warnings = [*_check_name(front, skill.name), *_check_description(front), *_check_optional(front)]
    region = guarded.find(text)
    if region is not None and region.start < len(parts.head):
        raise SkillError("the guarded region is inside the frontmatter", remedy="move it to the body")
    return (*warnings, *_advise_body(skill, text, parts.body), *_advise_files(skill))


def _error(front: frontmatter.Frontmatter, key: str, what: str, remedy: str) -> SkillError:
    return SkillError(f"{key} {what}", remedy=remedy, line=front.lines.get(key, 1))


def _text(front: frontmatter.Frontmatter, key: str, longest: int) -> str | None:
    """The key's value as text, None where the key is not there."""
    if key not in front.values:
        return None
    value = front.values[key]
    if not isinstance(value, str):
        raise _error(front, key, "is not text", f'write `{key}: "…"`')
    if not value.strip():
        raise _error(front, key, "is empty", f"write what the {key} is")
    if len(value) > longest:
        raise _error(front, key, f"has {len(value)} characters", f"at most {longest}")
    return value


def _check_name(front: frontmatter.Frontmatter, folder: str) -> tuple[str, ...]:
    name = _text(front, "name", MAX_NAME)
    if name is None:
        raise SkillError("name is missing", remedy=f"add `name: {folder}` to the frontmatter", line=1)
    if not NAME.fullmatch(name):
        raise _error(front, "name", "is not valid", "lowercase letters, digits and single hyphens between them")
    if name != folder:
        raise _error(front, "name", f"is not its folder's name `{folder}`", "make both the same")
    return ()


def _check_description(front: frontmatter.Frontmatter) -> list[str]:
    description = _text(front, "description", MAX_DESCRIPTION)
    if description is None:
        raise SkillError("description is missing", remedy="say what the skill does and when to use it", line=1)
    line = front.lines["description"]
    warnings = []
    if re.search(r"[<>]", description):
        warnings.append(f"{SKILL_FILE}:{line}: description has < or >, which some clients refuse")
    if "description" in front.block_scalars:
        warnings.append(f"{SKILL_FILE}:{line}: description is a YAML block; one quoted line is read by every client")
    if find_hidden(description.replace("\n", " ")) is not None:
        warnings.append(f"{SKILL_FILE}:{line}: description has hidden characters")
    return warnings


def _check_optional(front: frontmatter.Frontmatter) -> list[str]:
    _text(front, "license", MAX_DESCRIPTION)
    _text(front, "compatibility", MAX_COMPATIBILITY)
    warnings = []
    tools = front.values.get("allowed-tools")
    if isinstance(tools, list):
        warnings.append(
            f"{SKILL_FILE}:{front.lines['allowed-tools']}: allowed-tools is a list; the spec has one string"
        )
    else:
        _text(front, "allowed-tools", frontmatter.MAX_CHARS)
    if "metadata" in front.values:
        warnings += _check_metadata(front)
    for key in front.values:
        if key not in KNOWN_KEYS:
            warnings.append(f"{SKILL_FILE}:{front.lines[key]}: `{key}` is not in the open spec; some clients ignore it")
    return warnings


def _check_metadata(front: frontmatter.Frontmatter) -> list[str]:
    metadata = front.values["metadata"]
    if not isinstance(metadata, dict):
        raise _error(front, "metadata", "is not a map", "indent `key: value` lines below it")
    warnings = []
    for key, value in metadata.items():
        if isinstance(value, dict | list):
            raise _error(front, "metadata", f"has a nested value at `{key}`", "the spec allows text values only")
        if not isinstance(value, str):
            line = front.lines["metadata"]
            warnings.append(f"{SKILL_FILE}:{line}: metadata `{key}` is not text; put its value in quotes")
    return warnings


def _advise_body(skill: Skill, text: str, body: str) -> list[str]:
    warnings = []
    if not body.strip():
        warnings.append(f"{SKILL_FILE}: the body is empty")
    if len(body) > ADVISED_CHARS:
        warnings.append(f"{SKILL_FILE}: {len(body)} characters; the spec advises under {ADVISED_CHARS}")
    if body.count("\n") > ADVISED_LINES:
        warnings.append(f"{SKILL_FILE}: {body.count(chr(10))} lines; the spec advises under {ADVISED_LINES}")
    hidden = find_hidden(text)
    if hidden is not None:
        warnings.append(f"{SKILL_FILE}:{hidden[0]}: hidden character {hidden[1]}")
    targets = sorted(target for target in set(_LINK.findall(body)) if posixpath.normpath(target) not in skill.files)
    return warnings + [f"{SKILL_FILE}: links to `{target}`, which is not in the folder" for target in targets]


def _advise_files(skill: Skill) -> list[str]:
    pointers = [path for path, data in skill.files.items() if data.startswith(_LFS)]
    return [f"{path}: is kept by Git LFS; agents get the pointer, not what it stands for" for path in pointers]
