"""A skill in a repository, read: its folder at a commit, and what stands beside it. Blocking; nothing is written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from skills_repo import objects
from skills_repo.git import Git, GitFailedError
from skills_repo.history import FileAt, NotCommittedError, RepositoryError
from skills_repo.refs import Refs
from skills_repo.skill import Skill, SkillError
from skills_repo.validate import validate


@contextmanager
def _named_below(skill_path: str) -> Iterator[None]:
    """Errors name files from the repository's top."""
    try:
        yield
    except SkillError as error:
        raise error.below(skill_path) from error


def read(refs: Refs, skill_path: str, ref: str) -> Skill:
    """See `SkillHistory.read`."""
    commit = refs.resolve(ref)
    with _named_below(skill_path):
        try:
            skill = objects.read_skill(refs.git, commit, skill_path)
        except NotCommittedError as error:
            raise _only_on_head(refs, skill_path, commit) or error from error
        validate(skill)
    return skill


def _only_on_head(refs: Refs, skill_path: str, commit: str) -> RepositoryError | None:
    """The error for a folder that honed's branch lacks, where HEAD has it."""
    if commit != refs.head() or not refs.git.fields(["ls-tree", "-z", refs.resolve("HEAD"), "--", f"{skill_path}/"]):
        return None
    return RepositoryError(
        f"there is no folder {skill_path} on branch {refs.short}, which is the one used, but on HEAD"
        f" (merge HEAD into it, or `git branch -D {refs.short}` to start from HEAD)"
    )


def files(refs: Refs, skill_path: str, ref: str) -> tuple[FileAt, ...]:
    """See `SkillHistory.files`."""
    commit = refs.resolve(ref)
    with _named_below(skill_path):
        return objects.read_files(refs.git, commit, skill_path)


def changed_beside(git: Git, skill_path: str, oid: str) -> tuple[str, ...]:
    """See `SkillHistory.changed_beside`; `oid` is a checked id."""
    ends = git.line("rev-list", "--parents", "--max-count=1", oid).split()
    argv = ["diff-tree", "--root", "-r", "-z", "--name-only", "--no-commit-id", "--no-renames", *ends[1:2], oid]
    return tuple(sorted(path for path in git.fields(argv) if not path.startswith(f"{skill_path}/")))


def dirty(refs: Refs, skill_path: str) -> tuple[str, ...]:
    """See `SkillHistory.dirty`."""
    refs.check()
    if "true" in refs.git.line("rev-parse", "--is-bare-repository", "--is-inside-git-dir"):
        return ()
    flags = ("--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
    rows = refs.git.fields(["status", *flags, "--", skill_path], env=_without_programs(refs.git))
    return tuple(sorted(row[3:] for row in rows))


def _without_programs(git: Git) -> dict[str, str]:
    """Environment in which `git status` runs no filter, for it may be missing here, or not honed's to run.

    Then a file is taken for unchanged by its size and time of change, the rest of what `stat` says differs where a
    folder is seen from inside a container.
    """
    settings = {"core.checkStat": "minimal", "core.trustctime": "false"}
    try:
        keys = git.fields(["config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process)$"])
    except GitFailedError as error:
        if error.code != 1:
            raise
        keys = []
    for name in sorted({key.split(".", 1)[1].rsplit(".", 1)[0] for key in keys}):
        settings |= {f"filter.{name}.clean": "", f"filter.{name}.process": "", f"filter.{name}.required": "false"}
    pairs = enumerate(settings.items())
    numbered = {
        f"GIT_CONFIG_{what}_{n}": part for n, pair in pairs for what, part in zip(("KEY", "VALUE"), pair, strict=True)
    }
    return {"GIT_CONFIG_COUNT": str(len(settings)), **numbered}


def overlooked(refs: Refs, skill_path: str) -> str:
    """One sentence if the skill was changed on HEAD since the branch left it (or was merged); else empty."""
    ours = refs.head()
    theirs = refs.resolve("HEAD")
    if ours is None:
        return ""
    git = refs.git
    try:
        common = git.line("merge-base", ours, theirs)
        then = objects.read_skill(git, common, skill_path)
        if objects.read_skill(git, theirs, skill_path).digest == then.digest:
            return ""
    except GitFailedError as error:
        if error.code != 1:
            raise
        return ""  # nothing in common: there is no change to speak of
    except (SkillError, RepositoryError):
        pass  # not readable on one side: then it was changed for sure
    return (
        f"HEAD ({theirs[:10]}) has another version of {skill_path} than {refs.short} ({ours[:10]}), "
        f"which is the one used: merge HEAD into it, or `git branch -D {refs.short}` to start from HEAD"
    )
