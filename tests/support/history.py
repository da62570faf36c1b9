"""Histories of a skill for the verbs that read and undo them: a project on git, and a long line of steps made fast."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from skills_repo.edits import Edit, Op
from skills_repo.history import EditCommit
from skills_repo.message import EditNote, GateFigures, compose
from skills_repo.skill import Skill
from tests.support.honed_cli import git
from tests.support.projects import chat_project
from tests.support.skills import a_skill, skill_text

PATH = "skills/xlsx"


def step_message(
    run: str = "r-1",
    step: int = 1,
    *,
    position: int = 1,
    of: int = 1,
    before: float | None = 0.5,
    after: float | None = 0.75,
    edit: Edit | None = None,
    phase: str = "step",
    base: str = "sha256:base",
    failures: Sequence[str] = (),
) -> str:
    """An edit's message with its trailers."""
    edit = edit or Edit(Op.APPEND, content=f"- rule {step}", rationale="because it failed", evidence=("t-1", "t-2"))
    gate = GateFigures("paired/hard", 12, 3, before=before, after=after, valid=1.0, standard_error=0.05)
    if before is None:
        gate = GateFigures("given")
    note = EditNote(
        run, step, position, of, "xlsx", base, edit, gate, "codex 1 / m", "openai / o", tuple(failures), phase
    )
    return compose(note)


def change(skill: Skill, message: str) -> EditCommit:
    """A commit to make."""
    return EditCommit(skill, message)


def with_lines(*lines: str) -> Skill:
    """The skill with these lines below its title."""
    return a_skill("\n# Rules\n\n" + "".join(f"{line}\n" for line in lines))


def skill_project(folder: Path, skill: Skill | None = None) -> Path:
    """A project whose skill is `skills/xlsx`; returns its honed.toml."""
    chat_project(folder, "http://127.0.0.1:9/v1")
    toml = folder / "honed.toml"
    toml.write_text(toml.read_text().replace("skills/greeter", PATH))
    for path, data in (skill or with_lines("- one", "- two", "- three")).files.items():
        (folder / PATH / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / PATH / path).write_bytes(data)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Add the skill")
    return toml


def long_history(folder: Path, steps: int, *, path: str = PATH) -> str:
    """So many accepted steps on the skill's branch, in one go; returns its head."""
    rows = [f"reset refs/heads/honed/xlsx\nfrom {git(folder, 'rev-parse', 'HEAD')}\n\n"]
    for step in range(1, steps + 1):
        before, after = (step - 1) / steps, step / steps
        message = step_message(step=step, before=before, after=after)
        text = skill_text("\n# Rules\n\n" + "".join(f"- rule {number}\n" for number in range(step % 50 + 1)))
        rows.append(
            f"commit refs/heads/honed/xlsx\ncommitter honed <honed@localhost> {1000 + step} +0000\n"
            f"data {len(message.encode())}\n{message}"
            f"M 100644 inline {path}/SKILL.md\ndata {len(text.encode())}\n{text}\n"
        )
    command = ["git", "fast-import", "--quiet"]
    subprocess.run(command, cwd=folder, input="".join(rows).encode(), check=True, capture_output=True)
    return git(folder, "rev-parse", "refs/heads/honed/xlsx")
