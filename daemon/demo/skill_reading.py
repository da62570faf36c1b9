"""How a skill reaches a model through each harness: delivered with the request, read from a file, or only listed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from daemon.demo.conversation import Conversation

_CODEX_SKILL = re.compile(r"<skill>\n<name>.*?</name>\n<path>.*?</path>\n(.*)\n</skill>", re.DOTALL)
_CODEX_ROOT = re.compile(r"- `(r\d+)` = `([^`]+)`")
_CODEX_LISTED = re.compile(r"^- ([\w-]+): (.*) \(file: (\S+SKILL\.md)\)$", re.MULTILINE)
_CLAUDE_SKILL = "Base directory for this skill:"
_CLAUDE_LIST = "skills are available for use with the Skill tool:"
_CLAUDE_LISTED = re.compile(r"^- ([\w-]+): (.*)$", re.MULTILINE)
_ABOUT_SHEETS = re.compile(r"\bxlsx\b|spreadsheet|workbook", re.IGNORECASE)


@dataclass(frozen=True)
class ListedSkill:
    """A skill that the CLI only names."""

    name: str
    path: str
    """Its SKILL.md; empty where the CLI has a tool for opening skills."""


def delivered_skill(conversation: Conversation) -> str:
    """The text of every skill that reached the model, in order; empty if none did."""
    parts: list[str] = []
    for text in conversation.texts:
        parts += _CODEX_SKILL.findall(text)
        if text.startswith(_CLAUDE_SKILL):
            body = text.partition("\n")[2]
            parts.append(body.rpartition("\n\nARGUMENTS: ")[0] or body)
    for call in conversation.calls:
        if call.output is not None and opens_skill(call.name, str(dict(call.arguments))):
            parts.append(call.output.rpartition("\nOutput:\n")[2])
    return "\n\n".join(parts)


def opens_skill(tool: str, arguments: str) -> bool:
    """The call was made to read a skill."""
    return tool == "Skill" or "SKILL.md" in arguments


def listed_skill(conversation: Conversation) -> ListedSkill | None:
    """The first listed skill whose description is about spreadsheets."""
    text = "\n".join(conversation.texts)
    roots = dict(_CODEX_ROOT.findall(text))
    for name, description, path in _CODEX_LISTED.findall(text):
        if _ABOUT_SHEETS.search(description):
            root, _, rest = path.partition("/")
            return ListedSkill(name, f"{roots.get(root, root)}/{rest}")
    for name, description in _CLAUDE_LISTED.findall(text.partition(_CLAUDE_LIST)[2]):
        if _ABOUT_SHEETS.search(description):
            return ListedSkill(name, "")
    return None
