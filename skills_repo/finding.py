"""Which skill of a repository a person means: by its folder, or by its name where only one is called so.

Blocking, reading only. Looks at HEAD, and at the branch `honed/<name>` for a skill that only that has.
"""

from __future__ import annotations

import posixpath
from pathlib import Path

from skills_repo.git import Git, GitFailedError
from skills_repo.history import RepositoryError
from skills_repo.skill import SKILL_FILE
from skills_repo.validate import NAME

_MOST_SHOWN = 10


def top_folder(folder: Path) -> Path:
    """The top folder of the repository that a folder lies in (a bare one's own); raises `RepositoryError`."""
    git = Git(folder)
    try:
        bare = git.line("rev-parse", "--is-bare-repository") == "true"
        return Path(git.line("rev-parse", "--absolute-git-dir" if bare else "--show-toplevel"))
    except GitFailedError as error:
        raise RepositoryError(f"{folder} is in no git repository (go to one, or name a honed.toml)") from error


def find_skill(root: Path, given: str, here: Path) -> str:
    """The folder of the skill, relative to the repository's top folder `root`.

    `given` is that folder, a path from the folder `here` (to the skill or its SKILL.md), or the skill's name. Raises
    `RepositoryError` that lists what there is.
    """
    git = Git(root)
    names = {_cleaned(given), *_relative(root, here, given)}
    known = skills_at(git, "HEAD")
    name = posixpath.basename(_cleaned(given))
    own = skills_at(git, f"refs/heads/honed/{name}") if NAME.fullmatch(name) else ()
    for wanted in (known, own):
        exact = [path for path in wanted if path in names]
        called = exact or [path for path in wanted if posixpath.basename(path) == given]
        if len(called) == 1:
            return called[0]
        if called:
            raise RepositoryError(
                f"{len(called)} skills are called {given!r}: name one by its folder ({_some(called)})"
            )
    raise RepositoryError(f"there is no skill {given!r} in {root} (it has: {_some(known)})")


def skills_at(git: Git, commit: str) -> tuple[str, ...]:
    """The folders with a SKILL.md, ordered; none where there is no such commit."""
    try:
        rows = git.fields(["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit])
    except GitFailedError:
        return ()
    folders = (posixpath.split(path) for path in rows)
    return tuple(sorted(folder for folder, name in folders if name == SKILL_FILE and folder))


def _cleaned(given: str) -> str:
    return posixpath.normpath(given).removesuffix(f"/{SKILL_FILE}")


def _relative(root: Path, here: Path, given: str) -> tuple[str, ...]:
    """The same as a path on this machine, if it lies in the repository."""
    try:
        path = (here / given).resolve().relative_to(root.resolve()).as_posix()
    except (ValueError, OSError, RuntimeError):  # the last: links in a circle
        return ()
    return (path.removesuffix(f"/{SKILL_FILE}"),)


def _some(paths: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(paths[:_MOST_SHOWN])
    return (shown + (f" and {len(paths) - _MOST_SHOWN} more" if len(paths) > _MOST_SHOWN else "")) or "none"
