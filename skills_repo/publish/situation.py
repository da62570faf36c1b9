"""What stands where: the local branch, the remote's, what was published last, and what there is to publish.

Blocking. Reads, fetches missing objects, and moves one ref of honed's own, `refs/honed/published/…`; nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from skills_repo.git import Git, GitFailedError
from skills_repo.publish.errors import PublishError
from skills_repo.publish.proposal import Proposal, read_proposal
from skills_repo.publish.push import Standing, standing_of
from skills_repo.publish.remote import Remote

HEADS = "refs/heads/"


@dataclass(frozen=True)
class Situation:
    """One look at both sides."""

    branch: str
    """Short name: `honed/<skill>`."""
    head: str | None
    """The local branch's commit; None: no edit was ever kept."""
    base_branch: str
    base_tip: str
    """Where the base branch stands (on the remote, where there is one)."""
    remote_head: str | None
    published: str | None
    """What honed pushed last from here."""
    standing: Standing | None
    """None without a local branch."""
    merged: bool
    """The base branch contains the local one."""
    unshared: int = 0
    """Commits below honed's own that HEAD has and no branch of the remote: somebody's work that they did not push."""


def look(git: Git, remote: Remote, branch: str, base: str | None) -> Situation:
    """Both sides; `branch` is the full name of honed's branch, `base` the short name of the base branch, if chosen."""
    heads, default = remote.heads()
    base_ref = HEADS + base if base is not None else default
    if base_ref is None:
        raise PublishError(f"{remote.name} does not tell its default branch (set [publish] base)")
    if base_ref not in heads:
        msg = f"there is no branch {base_ref.removeprefix(HEADS)} on {remote.name}"
        raise PublishError(f"{msg} (push it there, or mend [publish] base)")
    if base_ref == branch:
        raise PublishError(f"{base_ref.removeprefix(HEADS)} is honed's own branch (mend [publish] base)")
    tip = heads[base_ref]
    if resolve(git, tip) is None:
        remote.fetch(base_ref)
    head = resolve(git, branch)
    published = resolve(git, published_ref(remote.name, branch))
    there = heads.get(branch)
    return Situation(
        branch=branch.removeprefix(HEADS),
        head=head,
        base_branch=base_ref.removeprefix(HEADS),
        base_tip=tip,
        remote_head=there,
        published=published,
        standing=None if head is None else standing_of(head, there, published, partial(contains, git)),
        merged=head is not None and contains(git, tip, head),
        unshared=0 if head is None else _unshared(git, head, heads.values()),
    )


def _unshared(git: Git, head: str, known: Iterable[str]) -> int:
    try:
        below = git.line("merge-base", "HEAD", head).splitlines()[0]
    except GitFailedError:
        return 0  # nothing in common with HEAD, or no HEAD: nobody's work is below
    wanted = "".join([f"{below}\n", *(f"^{one}\n" for one in known)])
    return int(git.line("rev-list", "--count", "--ignore-missing", "--stdin", stdin=wanted.encode()))


def look_here(git: Git, branch: str) -> Situation:
    """The same without a remote: against HEAD, as if nothing were ever published."""
    tip = resolve(git, "HEAD")
    if tip is None:
        raise PublishError("the repository has no commits yet (commit the skill first)")
    head = resolve(git, branch)
    name = branch.removeprefix(HEADS)
    merged = head is not None and contains(git, tip, head)
    return Situation(name, head, "HEAD", tip, None, None, None, merged)


def propose(git: Git, skill_path: str, seen: Situation, hosts: Sequence[str] = ()) -> Proposal:
    """What the branch adds to the base."""
    assert seen.head is not None
    try:
        base = git.line("merge-base", seen.base_tip, seen.head)
    except GitFailedError as error:
        msg = f"{seen.branch} and {seen.base_branch} have no commit in common"
        raise PublishError(f"{msg} (fetch the whole history, or mend [publish] base)") from error
    return read_proposal(
        git,
        skill_path,
        seen.branch,
        base_branch=seen.base_branch,
        base=base.splitlines()[0],
        head=seen.head,
        hosts=hosts,
    )


def published_ref(remote: str, branch: str) -> str:
    """Honed's own note of what it pushed last."""
    return f"refs/honed/published/{remote}/{branch.removeprefix(HEADS)}"


def note_published(git: Git, remote: str, branch: str, commit: str) -> None:
    """Write it down; `branch` short or full."""
    git.run("update-ref", published_ref(remote, branch), commit)


def resolve(git: Git, name: str) -> str | None:
    """The commit behind an id or a full ref name; None if it is not here."""
    try:
        return git.line("rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
    except GitFailedError:
        return None


def contains(git: Git, newer: str, older: str) -> bool:
    """`newer` has `older` in its history (or is it); false too where one of them is not here."""
    if resolve(git, newer) is None or resolve(git, older) is None:
        return False
    try:
        git.run("merge-base", "--is-ancestor", older, newer)
    except GitFailedError as error:
        if error.code == 1:
            return False
        raise
    return True
