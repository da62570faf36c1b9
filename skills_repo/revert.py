"""Taking commits of a skill back: a new commit for each, in git's own form, all in one move of the branch.

Invariants: nothing is rewritten; a commit that cannot be taken back whole and alone is refused with the reason and the
plain git commands; the caller's reason is kept, without characters that nobody sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skills_repo.hidden import is_hidden
from skills_repo.history import EditCommit, FileAt, RepositoryError, SkillCommit, SkillHistory
from skills_repo.merging import merge
from skills_repo.skill import Skill, SkillError, from_files
from skills_repo.validate import validate

MAX_REASON = 4_000
"""Characters."""
_FILES = ("100644", "100755")


async def revert(history: SkillHistory, commits: Sequence[SkillCommit], *, reason: str, when: float) -> tuple[str, ...]:
    """Take these commits back, the newest (last) first; returns the new commits, oldest first.

    Raises `RepositoryError` where one does not fit any more, and `RefMovedError` where somebody moved the branch
    meanwhile; then nothing has happened.
    """
    head = await history.base()
    skill = await history.read(head)
    changes: list[EditCommit] = []
    for commit in reversed(commits):
        await _check(history, commit, head)
        after, before = await history.files(commit.sha), await history.files(commit.parents[0])
        if _odd(after) != _odd(before):
            what = f"{_name(commit)} changed links, submodules or file modes"
            raise RepositoryError(f"{what}: {_by_hand(history, commit)}")
        merged = merge(_plain(after), skill.files, _plain(before))
        if merged.conflicts:
            what = f"{_name(commit)} no longer fits: what it changed in {', '.join(merged.conflicts)} was changed since"
            raise RepositoryError(f"{what}: {_by_hand(history, commit)}")
        if merged.files == skill.files:
            raise RepositoryError(f"{_name(commit)} has nothing left to take back: the skill is without it already")
        skill = _checked(history, commit, merged.files)
        changes.append(EditCommit(skill, message(commit, reason)))
    return await history.commit_edits(head, changes, when)


def message(commit: SkillCommit, reason: str = "") -> str:
    """Git's own message of a revert, with a reason below it; taking a revert back is called `Reapply`."""
    subject = commit.subject
    old = subject.removeprefix('Revert "').removesuffix('"')
    title = f'Reapply "{old}"' if subject.startswith('Revert "') and subject.endswith('"') else f'Revert "{subject}"'
    lines = reason.replace("\r\n", "\n").replace("\r", "\n")[:MAX_REASON].split("\n")
    kept = "\n".join("".join(char for char in line if not is_hidden(char)).rstrip() for line in lines).strip()
    return f"{title}\n\nThis reverts commit {commit.sha}.\n" + (f"\n{kept}\n" if kept else "")


async def _check(history: SkillHistory, commit: SkillCommit, head: str) -> None:
    """It may be taken back at all."""
    name = _name(commit)
    if not await history.is_ancestor(commit.sha, head):
        raise RepositoryError(f"{name} is not in the skill's history at {head[:12]} (see `honed log`)")
    if not commit.parents:
        raise RepositoryError(f"{name} is the first one: there is nothing before it (see `honed log`)")
    if len(commit.parents) > 1:
        raise RepositoryError(f"{name} is a merge: {_by_hand(history, commit, '-m 1 ')}")
    beside = await history.changed_beside(commit.sha)
    if beside:
        shown = ", ".join(beside[:3]) + (", …" if len(beside) > 3 else "")
        raise RepositoryError(f"{name} changed more than the skill ({shown}): {_by_hand(history, commit)}")


def _checked(history: SkillHistory, commit: SkillCommit, files: Mapping[str, bytes]) -> Skill:
    """The skill of these files, which must be a valid one."""
    try:
        skill = from_files(history.branch.rsplit("/", 1)[1], files)
        validate(skill)
    except SkillError as error:
        what = f"without {_name(commit)} the skill would not be valid: {error}"
        raise RepositoryError(f"{what}: {_by_hand(history, commit)}") from error
    return skill


def _plain(files: Sequence[FileAt]) -> Mapping[str, bytes]:
    return {file.path: file.data for file in files if file.mode in _FILES}


def _odd(files: Sequence[FileAt]) -> Mapping[str, tuple[str, bytes]]:
    """What is more than bytes under a name: links, submodules, and files that may be executed."""
    return {
        file.path: (file.mode, file.data if file.mode not in _FILES else b"")
        for file in files
        if file.mode != _FILES[0]
    }


def _name(commit: SkillCommit) -> str:
    return f"commit {commit.sha[:12]}"


def _by_hand(history: SkillHistory, commit: SkillCommit, option: str = "") -> str:
    branch = history.branch.removeprefix("refs/heads/")
    return f"do it by hand, in a work tree on {branch}: `git revert {option}{commit.sha}`"
