"""A skill's folder in git's object store: read it out of a commit, write commits with it changed.

Invariants: reading refuses whatever is not a plain file inside the skill; writing makes objects only, keeps file modes
and every sibling entry, and never sees an index or a working tree that is in use.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from skills_repo.git import Git
from skills_repo.history import Author, EditCommit, FileAt, NotCommittedError, RepositoryError
from skills_repo.skill import MAX_BYTES, MAX_FILES, Skill, SkillError, check_path, from_files

_FILE_MODES = ("100644", "100755")
_LINK_MODE = "120000"


@dataclass(frozen=True)
class Entry:
    """One row of `git ls-tree`."""

    mode: str
    kind: str
    oid: str
    size: int
    path: str


def read_skill(git: Git, commit: str, skill_path: str) -> Skill:
    """The skill's folder at a commit; raises `RepositoryError` if it is not there, `SkillError` if it is odd."""
    entries = _entries(git, commit, skill_path)
    _check_entries(entries)
    blobs = _blobs(git, [entry.oid for entry in entries])
    contents = {entry.path: blobs[entry.oid] for entry in entries}
    plain = {entry.path: contents[entry.path] for entry in entries if entry.mode != _LINK_MODE}
    links = {entry.path: contents[entry.path] for entry in entries if entry.mode == _LINK_MODE}
    files, inner = dict(plain), {}
    for path, target in links.items():
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.decode("utf-8", "replace")))
        if inside not in plain:
            raise SkillError("is a link that leaves the skill", remedy="put a regular file in its place", file=path)
        files[path], inner[path] = plain[inside], inside
    return from_files(posixpath.basename(skill_path), files, inner)


def read_files(git: Git, commit: str, skill_path: str) -> tuple[FileAt, ...]:
    """The folder as it is, valid or not; see `SkillHistory.files`."""
    entries = sorted(_rows(git, commit, skill_path), key=lambda entry: entry.path)
    _check_size(entries)
    blobs = _blobs(git, [entry.oid for entry in entries if entry.kind == "blob"])
    return tuple(FileAt(e.path, e.mode, blobs.get(e.oid, e.oid.encode())) for e in entries)


def _entries(git: Git, commit: str, skill_path: str) -> list[Entry]:
    entries = _rows(git, commit, skill_path)
    if not entries:
        raise _missing(git, commit, skill_path)
    return entries


def _missing(git: Git, commit: str, skill_path: str) -> RepositoryError:
    """Why there is nothing at the path: a link or a submodule on the way has nothing below it in this repository."""
    place = ""
    for part in skill_path.split("/"):
        place = posixpath.join(place, part)
        row = git.line("ls-tree", "--full-tree", commit, "--", place)
        if row.startswith(_LINK_MODE):
            target = git.line("cat-file", "blob", row.split()[2])
            real = posixpath.normpath(posixpath.join(posixpath.dirname(place), target, skill_path[len(place) + 1 :]))
            return RepositoryError(f"{place} at {commit[:12]} is a link to {target} (write {real} in [skill] path)")
        if row.startswith("160000"):
            inner = skill_path[len(place) + 1 :] or "its folder"
            hint = f"name {place} in [skill] repository, and {inner} in [skill] path"
            return RepositoryError(f"{place} at {commit[:12]} is a submodule, a repository of its own ({hint})")
    return NotCommittedError(f"there is no folder {skill_path} at {commit[:12]} (commit it, or mend [skill] path)")


def _rows(git: Git, commit: str, skill_path: str) -> list[Entry]:
    entries = []
    prefix = skill_path + "/"
    for row in git.fields(["ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--", prefix]):
        facts, path = row.split("\t", 1)
        mode, kind, oid, size = facts.split()
        entries.append(Entry(mode, kind, oid, int(size) if size.isdigit() else 0, path.removeprefix(prefix)))
    return entries


def _check_entries(entries: list[Entry]) -> None:
    for entry in entries:
        check_path(entry.path)
        if entry.kind == "commit":
            raise SkillError("is a submodule", remedy="put regular files in its place", file=entry.path)
        if entry.mode not in (*_FILE_MODES, _LINK_MODE):
            raise SkillError(f"has the odd mode {entry.mode}", remedy="commit it as a regular file", file=entry.path)
    _check_size(entries)


def _check_size(entries: list[Entry]) -> None:
    if len(entries) > MAX_FILES or sum(entry.size for entry in entries) > MAX_BYTES:
        raise SkillError("the folder is too large", remedy="move large files out", file=".")


def _blobs(git: Git, oids: list[str]) -> dict[str, bytes]:
    """Contents by object id, in one short-lived process."""
    wanted = list(dict.fromkeys(oids))
    out = git.run("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in wanted).encode())
    blobs: dict[str, bytes] = {}
    position = 0
    for oid in wanted:
        end = out.index(b"\n", position)
        header = out[position:end].split()
        if len(header) != 3:
            raise RepositoryError(f"object {oid[:12]} is missing (run `git fsck`, or fetch the whole repository)")
        size = int(header[2])
        blobs[oid] = out[end + 1 : end + 1 + size]
        position = end + 1 + size + 1
    return blobs


def write_commit(
    git: Git, parent: str, skill_path: str, *, before: Skill, change: EditCommit, author: Author, when: float
) -> str:
    """A commit object on top of `parent`, where the skill is `before`, that holds the change; returns its id."""
    if before.files == change.skill.files:
        raise RepositoryError(f"nothing to commit: skill {before.name} is unchanged")
    # A link that stays a link is no change, whatever the file it leads to now holds.
    kept = {path for path, to in change.skill.links.items() if before.links.get(path) == to}
    old, new = (
        {path: data for path, data in skill.files.items() if path not in kept} for skill in (before, change.skill)
    )
    tree = _write_folder(git, f"{parent}:{skill_path}", old, new)
    path = skill_path
    while path:
        path, name = posixpath.split(path)
        tree = _replace_entry(git, f"{parent}:{path}", name, tree)
    stdin, who = change.message.encode("utf-8", "replace"), identity(author, when)
    signed = author.signer.commit_tree(tree, parent, stdin, who) if author.signer else None
    return signed or git.line("commit-tree", tree, "-p", parent, "-F", "-", stdin=stdin, env=who)


def identity(author: Author, when: float) -> dict[str, str]:
    """Environment that fixes who and when; `when` in Unix seconds, written as UTC."""
    date = f"@{int(when)} +0000"
    return {
        "GIT_AUTHOR_NAME": author.name,
        "GIT_AUTHOR_EMAIL": author.email,
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_NAME": author.name,
        "GIT_COMMITTER_EMAIL": author.email,
        "GIT_COMMITTER_DATE": date,
    }


def _write_folder(git: Git, tree: str, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """The skill folder's tree with the changed files; objects alone, so that a kill leaves no file behind."""
    rows = _below(git, tree)
    for path in sorted(before.keys() | after.keys()):
        if path not in after:
            rows.pop(path, None)
        elif after[path] != before.get(path):
            check_path(path)
            oid = git.line("hash-object", "-w", "-t", "blob", "--no-filters", "--stdin", stdin=after[path])
            mode = rows.get(path, "").split(" ", 1)[0]
            rows[path] = f"{mode if mode in _FILE_MODES else _FILE_MODES[0]} blob {oid}"
    return _write_tree(git, rows)


def _below(git: Git, tree: str) -> dict[str, str]:
    """Everything below a tree but folders: path to mode, type and id."""
    rows = git.run("ls-tree", "-r", "-z", tree).decode("utf-8", "surrogateescape").split("\0")[:-1]
    return {row.split("\t", 1)[1]: row.split("\t", 1)[0] for row in rows}


def _write_tree(git: Git, entries: Mapping[str, str]) -> str:
    """A tree of these entries, with the trees in it."""
    folders: dict[str, dict[str, str]] = {}
    rows = {}
    for path, entry in entries.items():
        name, _, rest = path.partition("/")
        if rest:
            folders.setdefault(name, {})[rest] = entry
        else:
            rows[name] = entry
    rows |= {name: f"040000 tree {_write_tree(git, inner)}" for name, inner in folders.items()}
    text = "".join(f"{entry}\t{name}\0" for name, entry in rows.items())
    return git.line("mktree", "-z", "--missing", stdin=text.encode("utf-8", "surrogateescape"))


def _replace_entry(git: Git, tree: str, name: str, subtree: str) -> str:
    """The tree with one folder entry pointing elsewhere."""
    rows = git.run("ls-tree", "-z", tree).split(b"\0")[:-1]
    ours = name.encode()
    changed = [
        b"040000 tree " + subtree.encode() + b"\t" + ours if row.split(b"\t", 1)[1] == ours else row for row in rows
    ]
    return git.line("mktree", "-z", "--missing", stdin=b"".join(row + b"\0" for row in changed))
