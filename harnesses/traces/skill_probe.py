"""Telling from what an agent did whether the skill's body reached it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LINE_CHARS = 8
_TOLD_CHARS = 60
"""Of a description that is looked for: CLIs cut long ones."""

_TRIED_LINES = 20
_DESCRIPTION = re.compile(r"^description:[ \t]*(?:[>|][-+0-9]{0,2}[ \t]*\r?\n[ \t]+)?(.*)$", re.MULTILINE)
_QUOTES, _MARKERS = ("'", '"'), tuple("&*!{[%@`#>|")


@dataclass(frozen=True)
class SkillMarks:
    """Texts by which a skill is known in a request; empty: none is sure enough."""

    listed: str = ""
    body: str = ""

    @property
    def texts(self) -> frozenset[str]:
        """Those there are."""
        return frozenset(filter(None, (self.listed, self.body)))


@dataclass(frozen=True)
class SkillProbe:
    """What to look for. `text` is SKILL.md, whole; empty: unknown, then naming the file is evidence enough."""

    name: str
    text: str = ""

    def is_file(self, path: str) -> bool:
        """A path of this skill's SKILL.md: in its folder, or the copy beside the task's files (one level deep)."""
        if not path.endswith("SKILL.md"):
            return False
        parts = [part for part in path.split("/") if part not in ("", ".")]
        return len(parts) <= 2 or parts[-2] == self.name

    def read_by(self, command: str, output: str) -> bool:
        """A shell command named the file and its output shows at least one line of the body."""
        if "SKILL.md" not in command and f"skills/{self.name}" not in command:
            return False
        lines = self._body_lines()
        return not lines or any(line in output for line in lines)

    def injected_by(self, message: str) -> bool:
        """A message in which a CLI itself hands over the body: Claude Code's or Codex's form."""
        if message.startswith("Base directory for this skill: "):
            folder = message.split("\n", 1)[0].rstrip().rstrip("/")
            return folder.endswith("/" + self.name)
        return message.startswith("<skill>") and f"<name>{self.name}</name>" in message[:400]

    def listed_in(self, instructions: str) -> bool:
        """Codex's list of skills, a developer message, has this one."""
        return re.search(rf"^- {re.escape(self.name)}:", instructions, re.MULTILINE) is not None

    def marks(self, prompt: str, files: Iterable[bytes] = ()) -> SkillMarks:
        """What a request holds once a CLI has told its model of the skill; never what the task says anyhow."""
        task = [prompt.encode(), *files]
        told = f"- {self.name}: {self._description()[:_TOLD_CHARS]}"
        lines = sorted(self._body_lines() if self.text else (), key=_plain, reverse=True)[:_TRIED_LINES]
        body = next((line for line in lines if not _within(line, task)), "")
        return SkillMarks(listed="" if told.endswith(": ") or _within(told, task) else told, body=body)

    def _description(self) -> str:
        """How it begins: its first line, up to what YAML would read differently; empty where that is not plain."""
        found = _DESCRIPTION.search(self._head())
        line = "" if found is None else found[1].strip()
        if line[:1] in _QUOTES:
            return re.split(r"[\\'\"]", line[1:], maxsplit=1)[0].strip()
        return "" if line[:1] in _MARKERS else re.split(r"[ \t]#", line, maxsplit=1)[0].strip()

    def _head(self) -> str:
        parts = re.split(r"^---[ \t]*$", self.text, maxsplit=2, flags=re.MULTILINE)
        return parts[1] if len(parts) == 3 and not parts[0].strip() else ""

    def _body_lines(self) -> list[str]:
        parts = re.split(r"^---[ \t]*$", self.text, maxsplit=2, flags=re.MULTILINE)
        body = parts[2] if len(parts) == 3 else self.text
        return [line.strip() for line in body.splitlines() if len(line.strip()) >= _LINE_CHARS]


def _plain(line: str) -> tuple[bool, int]:
    """Long lines are sure; what a CLI fills in, or what is quoted in JSON, may not be sent as it is."""
    return not set(line) & set('$`"\\'), len(line)


def _within(text: str, task: Iterable[bytes]) -> bool:
    return any(text.encode() in part for part in task)
