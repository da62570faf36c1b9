"""Which skills' bodies reached a model, told without knowing beforehand which skills there are.

`SkillProbe` asks about one skill whose text is known; here names, paths and a digest of the body are found.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

_PATH = re.compile(r"[\w.~/@+-]{0,400}/SKILL\.md\b")
_BASE = "Base directory for this skill: "
_ARGUMENTS = "\n\nARGUMENTS: "
_HANDED = re.compile(r"<skill>\s*<name>([^<\n]{1,200})</name>\s*<path>([^<\n]{1,600})</path>\n?")
_LISTED = re.compile(r"^- ([^\s:]{1,200}): ", re.MULTILINE)
_BODY = re.compile(r"^(?:#{1,3} \S|description:)", re.MULTILINE)


@dataclass(frozen=True)
class Sighting:
    """A skill whose body reached the model."""

    name: str
    path: str = ""
    """Its folder or its SKILL.md, as the session names it; empty: not told."""
    digest: str = ""
    """`body_digest` of what the model got; empty: not known whole."""


def body_digest(text: str) -> str:
    """Sixteen hex digits of SHA-256 over a SKILL.md's body, without frontmatter and outer blanks."""
    text = text.replace("\r\n", "\n")
    parts = re.split(r"^---[ \t]*$", text, maxsplit=2, flags=re.MULTILINE)
    body = parts[2] if len(parts) == 3 and not parts[0].strip() else text
    return hashlib.sha256(body.strip().encode("utf-8", "replace")).hexdigest()[:16]


def handed_over(message: str) -> Sighting | None:
    """A message in which a CLI hands over a skill's body: Claude Code's form, or Codex's."""
    if message.startswith(_BASE):
        head, _, body = message.partition("\n")
        folder = head.removeprefix(_BASE).strip().rstrip("/")
        name = folder.rsplit("/", 1)[-1][:200]
        return Sighting(name, folder[:600], body_digest(body.rsplit(_ARGUMENTS, 1)[0])) if name else None
    found = _HANDED.match(message)
    if found is None:
        return None
    body = message[found.end() :].rstrip().removesuffix("</skill>")
    return Sighting(found[1].strip(), found[2].strip(), body_digest(body))


def invoked(name: str) -> Sighting | None:
    """The `Skill` tool was used: a name, perhaps with a plug-in's in front of it."""
    name = name.removeprefix("/").split(":")[-1].strip()[:200]
    return Sighting(name) if name else None


def read_from(path: str, text: str = "") -> Sighting | None:
    """A file was read: a SKILL.md in a skill's folder; `text` is its content, where that is known whole."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if len(parts) < 2 or parts[-1] != "SKILL.md":
        return None
    return Sighting(parts[-2][:200], path[:600], body_digest(text) if text.startswith("---") else "")


def read_by(command: str, output: str) -> tuple[Sighting, ...]:
    """Skills whose SKILL.md a shell command names, where the output looks like one's text."""
    if "SKILL.md" not in command or not _BODY.search(output):
        return ()
    paths = dict.fromkeys(_PATH.findall(command[:20_000]))
    text = output if len(paths) == 1 else ""
    return tuple(found for path in paths if (found := read_from(path, text)))


def listed_in(instructions: str) -> list[str]:
    """The names in Codex's list of skills, a developer message."""
    if "<skills_instructions>" not in instructions:
        return []
    part = instructions.split("<skills_instructions>", 1)[1].split("</skills_instructions>", 1)[0]
    part = part.split("### Available skills", 1)[-1].split("\n### ", 1)[0]
    return _LISTED.findall(part)
