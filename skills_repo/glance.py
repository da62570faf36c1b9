"""Where the lines of a skill's history stand now, in two git processes. Blocking; nothing is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skills_repo.git import Git, GitFailedError
from skills_repo.history import RepositoryError

_FORMAT = "%(HEAD)%00%(refname)%00%(contents)%00"
_REASON = re.compile(r"^Honed-Reason: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Tip:
    """A line's newest commit, and the skill's folder there; empty where there is none."""

    commit: str = ""
    tree: str = ""


@dataclass(frozen=True)
class Glance:
    """What stands where."""

    head: Tip
    """Empty also where HEAD is honed's own branch."""
    branch: Tip
    remote: Tip
    """What was last fetched of the remote's base branch."""
    closed: tuple[tuple[str, str], ...]
    """Requests that a person closed: name and reason, by name."""


def glance(root: Path, skill_path: str, remote_ref: str) -> Glance:
    """Look; raises `RepositoryError`. `remote_ref` is the full name of what follows the remote's base branch."""
    name = skill_path.rsplit("/", 1)[-1]
    branch = f"refs/heads/honed/{name}"
    git = Git(root)
    # No repository above it is taken for it.
    env = {"GIT_CEILING_DIRECTORIES": str(root.parent)}
    try:
        patterns = (branch, f"refs/honed/rejected/{name}/request-*")
        fields = git.fields(["for-each-ref", f"--format={_FORMAT}", *patterns], env=env)
        lines = ("HEAD", branch, remote_ref)
        asked = "".join(f"{line}^{{commit}}\n{line}:{skill_path}\n" for line in lines)
        told = git.line("cat-file", "--batch-check=%(objectname)", stdin=asked.encode(), env=env).split("\n")
    except GitFailedError as error:
        if "not a git repository" in error.stderr:
            raise RepositoryError(f"{root} is not a git repository (run `git init` there)") from error
        raise RepositoryError(f"{root}: {error} (run `git fsck` there if this persists)") from error
    rows = [(row[0].lstrip("\n"), row[1], row[2]) for row in zip(*[iter(fields)] * 3, strict=True)]
    ids = ["" if answer.endswith(" missing") else answer for answer in told]
    head, mine, theirs = (Tip(ids[at], ids[at + 1]) for at in (0, 2, 4))
    if any(mark == "*" for mark, ref, _ in rows if ref == branch):
        head = Tip()  # it moves with every edit of honed's: nobody's line
    closed = [(ref.rsplit("/", 1)[1], _reason(text)) for _, ref, text in rows if ref != branch]
    return Glance(head, mine, theirs, tuple(sorted(closed)))


def since(root: Path, skill_path: str, tip: str, known: Sequence[str]) -> tuple[str, ...]:
    """Ids of the commits below `tip` that changed the skill and that no `known` commit contains, newest first.

    Known commits that are not here any more do not count. Raises `GitFailedError`.
    """
    git = Git(root)
    kinds = git.line("cat-file", "--batch-check=%(objecttype)", stdin="".join(f"{one}\n" for one in known).encode())
    there = [one for one, kind in zip(known, kinds.split("\n"), strict=False) if kind == "commit"]
    argv = ["rev-list", "--topo-order", "--full-history", tip, *(f"^{one}" for one in there), "--", skill_path]
    return tuple(git.line(*argv).split())


def made_anew(root: Path, ids: Sequence[str]) -> frozenset[str]:
    """Those that somebody else committed than wrote them: amended, picked or rebased. Raises `GitFailedError`."""
    if not ids:
        return frozenset()
    argv = ["log", "--no-walk=unsorted", "--no-show-signature", "--no-notes", "--stdin"]
    stdin = "".join(f"{one}\n" for one in ids).encode()
    fields = Git(root).fields([*argv, "--format=tformat:%H%x00%an <%ae>%x00%cn <%ce>%x00"], stdin)
    rows = zip(*[iter(fields)] * 3, strict=True)
    return frozenset(sha.lstrip("\n") for sha, author, committer in rows if author != committer)


def _reason(text: str) -> str:
    found = _REASON.search(text)
    return found[1] if found else ""
