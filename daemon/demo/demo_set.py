"""What a written demo consists of, and the knobs that suit it. Pure data: `honed demo` reads nothing else of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CODEX_MODEL = "gpt-5.5"
"""The slug decides the tools Codex offers: this one has `exec_command`."""
CLAUDE_MODEL = "claude-opus-5-5"
CHAT_MODEL = "simulated-target"
OPTIMIZER_MODEL = "simulated-optimizer"


@dataclass(frozen=True)
class Knobs:
    """Values for `[train]` that make the demo show what it should within its time."""

    epochs: int = 1
    batch: int = 4
    minibatch: int = 4
    edit_budget: int = 2
    min_edit_budget: int = 2
    seed: int = 13


@dataclass(frozen=True)
class DemoSet:
    """A demo on disk."""

    folder: Path
    tasks: Path
    """The tasks.jsonl; its files lie beside it."""
    skills: Path
    """The folder to put into a git repository: it holds `<skill>/SKILL.md`."""
    skill: str
    """The skill's name; its path in the repository is `skills/<name>`."""
    sizes: dict[str, int]
    """How many tasks each split has."""
    knobs: Knobs

    @property
    def skill_path(self) -> str:
        """For `[skill] path`."""
        return f"skills/{self.skill}"
