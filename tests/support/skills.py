"""Skills, git repositories and both kinds of history for tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from skills_repo.edits import Edit, Op
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import Author, EditCommit, SkillHistory
from skills_repo.message import EditNote, GateFigures, compose
from skills_repo.repository import SkillRepository
from skills_repo.skill import Skill, from_files

HONED = Author("honed", "honed@localhost")
SKILL_PATH = "team/skills/xlsx"
GATE = GateFigures("strict", 12, 1, before=0.5, after=0.75, valid=1.0)


def skill_text(body: str, *, name: str = "xlsx") -> str:
    """A valid SKILL.md with this body."""
    return f'---\nname: {name}\ndescription: "Fix spreadsheets"\n---\n{body}'


def a_skill(body: str = "\n# Rules\n\n- one\n- two\n", **files: bytes) -> Skill:
    """A valid skill named xlsx; other files by keyword (`a__b` is `a/b`)."""
    more = {path.replace("__", "/"): data for path, data in files.items()}
    return from_files("xlsx", {"SKILL.md": skill_text(body).encode(), **more})


def git(folder: Path, *argv: str, **env: str) -> str:
    """Run git as a person would, with a configuration of its own."""
    base = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
    people = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _PERSON}
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", *argv],
        cwd=folder,
        env={**base, **people, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


_PERSON = (("NAME", "A Person"), ("EMAIL", "person@example.com"), ("DATE", "@1000 +0000"))


def lay(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def a_repository(folder: Path, skill: Skill | None = None) -> Path:
    """A git repository with the skill, a script that may be executed, and siblings at every level."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    lay(folder / SKILL_PATH, (skill or a_skill()).files)
    lay(folder, {"README.md": b"readme\n", "team/notes.txt": b"n\n", "team/skills/other/SKILL.md": b"other\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Add the skill")
    return folder


def a_repository_of(tmp_path: Path, kind: str) -> Path:
    """The same, `plain`, `bare` or with `sha256` ids."""
    folder = tmp_path / "r"
    if kind == "sha256":
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main", "--object-format=sha256")
    a_repository(folder)
    if kind == "bare":
        git(tmp_path, "clone", "-q", "--bare", str(folder), str(tmp_path / "bare"))
        return tmp_path / "bare"
    return folder


def history_of(folder: Path) -> SkillRepository:
    """The history of the skill that `a_repository` made."""
    return SkillRepository(folder, SKILL_PATH, author=HONED)


@dataclass(frozen=True)
class Lab:
    """A history, and a person who commits on its branch."""

    history: SkillHistory
    human_commit: Callable[[Mapping[str, bytes], str], str]
    """The skill then holds exactly these files; returns the commit."""


def fake_lab(skill: Skill) -> Lab:
    """The fake's."""
    fake = FakeSkillRepository(skill, author=HONED)
    return Lab(fake, fake.human_commit)


def git_lab(folder: Path, skill: Skill) -> Lab:
    """Real git's: the person works in a linked work tree that is gone afterwards."""
    a_repository(folder, skill)
    history = history_of(folder)
    branch = history.branch.removeprefix("refs/heads/")

    def human_commit(files: Mapping[str, bytes], message: str) -> str:
        tree = folder.with_name(folder.name + "-person")
        exists = git(folder, "branch", "--list", branch).strip()
        git(folder, "worktree", "add", "-q", str(tree), *([branch] if exists else ["-b", branch]))
        git(tree, "rm", "-rq", SKILL_PATH)
        lay(tree / SKILL_PATH, files)
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "--allow-empty", "-m", message)
        git(folder, "worktree", "remove", "--force", str(tree))
        return git(folder, "rev-parse", history.branch).strip()

    return Lab(history, human_commit)


def a_change(skill: Skill, *, run: str = "r-1", step: int = 1, position: int = 1, of: int = 1) -> EditCommit:
    """An edit's commit with its trailers."""
    edit = Edit(Op.APPEND, content="- a rule", rationale="because", evidence=("t-1",))
    note = EditNote(run, step, position, of, skill.name, "sha256:base", edit, GATE, "codex 1 / m", "o")
    return EditCommit(skill, compose(note))
