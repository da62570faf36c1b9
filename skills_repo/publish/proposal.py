"""What there is to publish, read from git alone: the branch's commits beyond the base, the skill before and after."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from skills_repo import log as logs
from skills_repo import objects
from skills_repo.git import Git, GitFailedError
from skills_repo.history import SkillCommit
from skills_repo.message import place_of
from skills_repo.publish.facts import Place
from skills_repo.risky import Risk, skill_risks
from skills_repo.skill import SKILL_FILE, Skill

MAX_COMMITS = 500
"""Read of one branch."""


@dataclass(frozen=True)
class Proposal:
    """One skill's unpublished work."""

    skill_path: str
    branch: str
    """Short name: `honed/<skill>`."""
    base_branch: str
    base: str
    """The commit that branch and base have in common."""
    head: str
    commits: tuple[SkillCommit, ...]
    """That changed the skill, oldest first; people's and reverts too."""
    before: Skill
    after: Skill
    risks: tuple[Risk, ...]

    @property
    def edits(self) -> tuple[SkillCommit, ...]:
        """Honed's own commits that still stand, oldest first."""
        return standing(self.commits)

    @property
    def places(self) -> tuple[Place, ...]:
        """Run, step and phase of the edits, each once, oldest first."""
        found = (place_of(commit.trailers) for commit in self.edits)
        return tuple(dict.fromkeys(place for place in found if place is not None))

    @property
    def unmeasured(self) -> tuple[SkillCommit, ...]:
        """People's commits and reverts after the last edit that stands: no figure of the edits knows of them."""
        last = max((at for at, commit in enumerate(self.commits) if commit in self.edits), default=-1)
        since = [commit for commit in self.commits[last + 1 :] if commit.kind != "edit"]
        reverts = {commit.sha for commit in since if commit.reverts is not None}
        gone = taken_back(self.commits)
        return tuple(commit for commit in since if commit.sha not in gone and commit.reverts not in reverts)

    @property
    def title(self) -> str:
        """The same for every state of one skill."""
        return f"Skill {self.after.name}: edits measured by honed"


def standing(commits: Sequence[SkillCommit]) -> tuple[SkillCommit, ...]:
    """Honed's commits, of these (oldest first), that no revert takes back."""
    gone = taken_back(commits)
    return tuple(commit for commit in commits if commit.kind == "edit" and commit.sha not in gone)


def taken_back(commits: Sequence[SkillCommit]) -> set[str]:
    """What the reverts among these (oldest first) take back; a revert that was reverted takes nothing."""
    gone: set[str] = set()
    for commit in reversed(commits):
        if commit.reverts is not None and commit.sha not in gone:
            gone.add(commit.reverts)
    return gone


def read_proposal(
    git: Git, skill_path: str, branch: str, *, base_branch: str, base: str, head: str, hosts: Sequence[str] = ()
) -> Proposal:
    """Everything between two commits; both must be here. Raises `RepositoryError` or `SkillError`."""
    before = _before(git, base, skill_path)
    after = objects.read_skill(git, head, skill_path)
    return Proposal(
        skill_path=skill_path,
        branch=branch,
        base_branch=base_branch,
        base=base,
        head=head,
        commits=commits_between(git, base, head, skill_path),
        before=before,
        after=after,
        risks=skill_risks(before, after, hosts),
    )


def _before(git: Git, base: str, skill_path: str) -> Skill:
    """The skill at the base; an empty one where the base has none yet."""
    try:
        git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}:{skill_path}")
    except GitFailedError:
        return Skill(posixpath.basename(skill_path), {SKILL_FILE: b""})
    return objects.read_skill(git, base, skill_path)


def commits_between(git: Git, base: str, head: str, skill_path: str) -> tuple[SkillCommit, ...]:
    """The commits that changed the skill, oldest first."""
    return tuple(reversed(logs.read_log(git, f"{base}..{head}", skill_path, MAX_COMMITS)))
