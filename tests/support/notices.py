"""A project that is looked at: what honed and people do to it, and the causes that come of it."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from daemon.config import load_config
from daemon.jobs.job import Cause
from daemon.notices.differences import differences
from daemon.notices.look import look
from daemon.notices.seen import Seen
from daemon.places import open_history, open_rejected
from daemon.service.project import Project
from skills_repo.history import EditCommit
from skills_repo.rejected_refs import RejectedRefs
from skills_repo.repository import SkillRepository
from skills_repo.skill import Skill
from tests.support.history import PATH, skill_project, step_message, with_lines
from tests.support.honed_cli import git

BRANCH = "honed/xlsx"


@dataclass
class Watched:
    """One project on real git."""

    folder: Path
    seen: Seen | None = None
    lines: list[str] = field(default_factory=lambda: ["- one", "- two", "- three"])
    project: Project = field(init=False)

    def __post_init__(self) -> None:
        self.project = Project("xlsx", load_config(self.folder / "honed.toml"))

    async def causes(self) -> tuple[Cause, ...]:
        """Look once more, through what a store would keep."""
        after = await look(self.project, self.seen)
        found = differences(self.seen, after)
        self.seen = Seen.from_data(json.loads(json.dumps(after.to_data())))
        assert self.seen == after
        return found

    async def kinds(self) -> list[str]:
        """The kinds of the causes of one look."""
        return [cause.kind for cause in await self.causes()]

    @property
    def history(self) -> SkillRepository:
        """The skill's."""
        return open_history(self.project.config)

    @property
    def rejected(self) -> RejectedRefs:
        """What was turned down."""
        return open_rejected(self.project.config)

    async def accept(self, line: str, *, step: int = 1) -> str:
        """Honed accepts an edit that appends a line; returns its commit."""
        self.lines.append(line)
        return await self.accept_skill(with_lines(*self.lines), step=step)

    async def accept_skill(self, skill: Skill, *, step: int = 1) -> str:
        """The same with the whole skill given."""
        change = EditCommit(skill, step_message(step=step))
        history = self.history
        [made] = await history.commit_edits(await history.base(), [change], 1_000.0 + step)
        return made

    def write(self, *lines: str, tree: Path | None = None) -> Path:
        """A person writes the skill's lines into a work tree."""
        file = (tree or self.folder) / PATH / "SKILL.md"
        file.write_bytes(with_lines(*lines).files["SKILL.md"])
        return file

    def commit(self, message: str, *lines: str) -> str:
        """A person commits another version of the skill to HEAD."""
        self.write(*lines)
        git(self.folder, "commit", "--quiet", "--all", "--message", message)
        return git(self.folder, "rev-parse", "HEAD")

    def on_branch(self, *argv: str, lines: tuple[str, ...] = ()) -> str:
        """A person works on honed's branch in a work tree of their own: writes lines, runs git; the branch's head."""
        tree = self.folder.with_name(f"{self.folder.name}-tree")
        git(self.folder, "worktree", "add", "--quiet", str(tree), BRANCH)
        if lines:
            self.write(*lines, tree=tree)
        git(tree, *argv)
        git(self.folder, "worktree", "remove", "--force", str(tree))
        return git(self.folder, "rev-parse", f"refs/heads/{BRANCH}")

    def tasks(self) -> list[dict[str, Any]]:
        """The rows of tasks.jsonl."""
        return [json.loads(row) for row in (self.folder / "tasks.jsonl").read_text().splitlines()]

    def save_tasks(self, rows: list[dict[str, Any]]) -> None:
        """As an editor does: another file takes the old one's place."""
        part = self.folder / "tasks.jsonl.part"
        part.write_text("".join(json.dumps(row) + "\n" for row in rows))
        part.replace(self.folder / "tasks.jsonl")

    def change_config(self, old: str, new: str) -> None:
        """Write honed.toml with a text replaced."""
        file = self.folder / "honed.toml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))


@cache
def _template() -> Path:
    """A fresh project that is copied: making one takes a dozen git processes."""
    folder = Path(tempfile.mkdtemp(prefix="honed-notices-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    skill_project(folder)
    return folder


def a_watched(folder: Path) -> Watched:
    """A fresh project."""
    shutil.copytree(_template(), folder, dirs_exist_ok=True)
    return Watched(folder)
