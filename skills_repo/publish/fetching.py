"""Know the remote's base branch without touching anybody's refs: people's remote-tracking branches are their own.

It is kept at `refs/honed/fetched/<remote>`. A bare repository has no work tree that could be pulled in, so there the
branch that HEAD names is brought forward too, as long as that is a fast-forward. Blocking.
"""

from __future__ import annotations

from skills_repo.git import Git, GitFailedError
from skills_repo.history import RepositoryError
from skills_repo.publish.errors import PublishError
from skills_repo.publish.remote import Remote
from skills_repo.publish.situation import HEADS, contains, resolve


def fetched_ref(remote: str) -> str:
    """Where the remote's base branch is kept."""
    return f"refs/honed/fetched/{remote}"


def fetch_base(remote: Remote, base: str | None) -> bool:
    """Bring the base branch's commits here; True if it moved. Asks the remote once where nothing is new.

    `base` is the branch's short name; None: the remote's default branch. Raises `PublishError`, `RepositoryError`.
    """
    heads, default = remote.heads()
    ref = HEADS + base if base is not None else default
    if ref is None:
        raise PublishError(f"{remote.name} does not tell its default branch (set [publish] base)")
    if ref not in heads:
        msg = f"there is no branch {ref.removeprefix(HEADS)} on {remote.name}"
        raise PublishError(f"{msg} (push it there, or mend [publish] base)")
    git = Git(remote.root)
    tip, known = heads[ref], resolve(git, fetched_ref(remote.name))
    try:
        if resolve(git, tip) is None:
            remote.fetch(ref)
        if tip != known:
            git.run("update-ref", fetched_ref(remote.name), tip)
        return _forward(git, ref, tip) or tip != known
    except GitFailedError as error:
        raise RepositoryError(f"{remote.root}: {error} (run `git fsck` there if this persists)") from error


def _forward(git: Git, ref: str, tip: str) -> bool:
    """Move a bare repository's own base branch from where it was seen; True if it moved."""
    if git.line("rev-parse", "--is-bare-repository") != "true":
        return False
    try:
        named = git.line("symbolic-ref", "--quiet", "HEAD")
    except GitFailedError:
        return False  # HEAD is a commit, which somebody chose
    here = resolve(git, ref)
    if named != ref or here is None or here == tip or not contains(git, tip, here):
        return False
    git.run("update-ref", "-m", "honed: fast-forward", ref, tip, here)
    return True
