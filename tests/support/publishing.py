"""A clone with a skill that honed has edits for, its remote, and a publisher: what tests of publishing work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from skills_repo.edits import Edit, Op
from skills_repo.history import EditCommit
from skills_repo.message import EditNote, GateFigures, compose
from skills_repo.publish.facts import Facts
from skills_repo.publish.forge import Forge
from skills_repo.publish.proposal import Proposal
from skills_repo.publish.publisher import Publisher
from skills_repo.publish.remote import Remote
from skills_repo.publish.settings import PublishSettings
from skills_repo.rejected_refs import RejectedRefs
from skills_repo.repository import SkillRepository
from skills_repo.skill import Skill
from tests.support.skills import HONED, SKILL_PATH, a_repository, a_skill, git, history_of

BRANCH = "honed/xlsx"


def edit_commit(skill: Skill, *, step: int = 1, content: str = "- a rule", **note: Any) -> EditCommit:
    """An edit's commit with figures; `note`: more of the `EditNote`."""
    edit = note.pop("edit", None) or Edit(Op.APPEND, content=content, rationale="because", evidence=("t-1", "t-2"))
    gate = GateFigures("paired/hard", 12, 3, before=0.5, after=0.75, valid=1.0, standard_error=0.05)
    base = EditNote("r-1", step, 1, 1, skill.name, "sha256:base", edit, gate, "codex 0.171.0 / m", "openai / o")
    return EditCommit(skill, compose(EditNote(**{**vars(base), **note})))


@dataclass
class Work:
    """A clone of somebody who runs honed."""

    folder: Path
    lines: list[str] = field(default_factory=lambda: ["- one", "- two"])

    @property
    def history(self) -> SkillRepository:
        """Its skill."""
        return history_of(self.folder)

    async def accept(self, *lines: str, step: int = 1, **note: Any) -> str:
        """Honed accepts one edit that appends these lines; returns its commit."""
        self.lines += lines
        body = "\n# Rules\n\n" + "\n".join(self.lines) + "\n"
        history = self.history
        change = edit_commit(a_skill(body), step=step, content="\n".join(lines), **note)
        [made] = await history.commit_edits(await history.base(), [change], 1_000 + step)
        return made

    @property
    def head(self) -> str:
        """Of honed's branch."""
        return git(self.folder, "rev-parse", f"refs/heads/{BRANCH}").strip()

    def person(self, message: str, *argv: str, tree: str = "person") -> str:
        """A person works on honed's branch in a work tree of their own: `git <argv>` there; returns the new head."""
        place = self.folder.with_name(f"{self.folder.name}-{tree}")
        git(self.folder, "worktree", "add", "-q", str(place), BRANCH)
        if argv:
            git(place, *argv)
        else:
            file = place / SKILL_PATH / "SKILL.md"
            file.write_text(file.read_text() + f"- {message}\n")
            git(place, "commit", "-qam", message)
        git(self.folder, "worktree", "remove", "--force", str(place))
        return self.head


def a_clone(folder: Path, url: str) -> Work:
    """A repository with a skill, pushed to a new remote."""
    a_repository(folder, a_skill())
    git(folder, "remote", "add", "origin", url)
    git(folder, "push", "-q", "origin", "main")
    return Work(folder)


async def no_facts(proposal: Proposal) -> Facts:
    """Nothing is known but the commits."""
    return Facts()


def publisher(
    work: Work, forge: Forge | None = None, *, mode: Any = None, timeout_s: float = 20.0, **more: Any
) -> Publisher:
    """Honed's publishing of that clone's skill; `more`: of the settings."""
    settings = PublishSettings(mode=mode or ("pull-request" if forge else "push"), **more)
    remote = Remote(work.folder, settings.remote, timeout_s, frozenset({"OPENAI_API_KEY"}))
    return Publisher(work.history, settings, remote, forge, no_facts, lambda text: text, rejected=rejected_of(work))


def rejected_of(work: Work) -> RejectedRefs:
    """What was turned down there."""
    return RejectedRefs(work.folder, SKILL_PATH, author=HONED)


def refs(folder: Path, *, without: Sequence[str] = ()) -> dict[str, str]:
    """Every ref by name."""
    rows = (row.split(" ", 1) for row in git(folder, "for-each-ref", "--format=%(objectname) %(refname)").splitlines())
    return {name: oid for oid, name in rows if not name.startswith(tuple(without))}


NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
