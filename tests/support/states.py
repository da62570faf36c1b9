"""Git repositories in every state that people leave them in, and what of them must not change.

Each function of `STATES` takes a plain repository with a skill and brings it into a state; it returns the folder that
honed is pointed at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from skills_repo.skill import Skill
from tests.support.skills import SKILL_PATH, a_repository, a_skill, git, lay

SKILL_FILES = {
    "scripts__run_sh": b"#!/bin/sh\necho hello\n",
    "scripts__empty": b"",
    "references__crlf_md": b"one\r\ntwo\r\n",
    "references__bom_md": b"\xef\xbb\xbfbegins with a mark",
    "references__mixed_md": b"a\r\nb\nc\rd",
    "assets__raw": bytes(range(256)) * 3,
    "assets__caf\u00e9": b"composed",
    "assets__cafe\u0301-2": b"decomposed",
    "assets__two words": b"blank in the name\n",
}
OURS = ("refs/heads/honed/", "refs/remotes/bare/honed/", "refs/honed/", "refs/notes/honed")
State = Callable[[Path], Path]
_NO_FILTERS = [
    part
    for name in ("mine", "lfs")
    for setting in ("clean=", "process=", "required=false")
    for part in ("-c", f"filter.{name}.{setting}")
]


def rich_skill(body: str = "\n# Rules\n\n- one\n- two\n") -> Skill:
    """A skill with files of every kind of bytes."""
    return a_skill(body, **SKILL_FILES)


def template(folder: Path) -> Path:
    """A repository with the rich skill, a script that may be executed, a link, and two commits."""
    a_repository(folder, rich_skill())
    (folder / SKILL_PATH / "scripts/run_sh").chmod(0o755)
    (folder / SKILL_PATH / "assets/alias").symlink_to("raw")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Make it run")
    return folder


def copy_of(folder: Path, target: Path) -> Path:
    """A copy that nothing is shared with; its index is fresh."""
    shutil.copytree(folder, target, symlinks=True)
    git(target, "status")
    return target


@dataclass(frozen=True)
class Fingerprint:
    """Everything that belongs to people."""

    files: dict[str, tuple[bytes, int]] = field(repr=False)
    """Work tree, index, configuration, hooks, reflogs, refs, whatever lies in .git but objects and what is honed's."""
    status: str
    refs: str
    stash: str
    reflog: str
    findings: frozenset[str]
    """Of `git fsck --strict`."""
    objects: frozenset[str] = field(repr=False)

    def assert_kept(self, now: Fingerprint) -> None:
        """Only objects were added."""
        assert now.status == self.status
        assert now.refs == self.refs
        assert now.stash == self.stash
        assert now.reflog == self.reflog
        assert sorted(now.files) == sorted(self.files)
        assert [name for name in now.files if now.files[name] != self.files[name]] == []
        assert now.findings <= self.findings
        assert now.objects >= self.objects


def fingerprint(where: Path) -> Fingerprint:
    """Of a repository: its own folder, and the git folder that it may share with others."""
    common = (where / git(where, "rev-parse", "--git-common-dir").strip()).resolve()
    bare = git(where, "rev-parse", "--is-inside-work-tree").strip() != "true"
    refs = [row for row in git(where, "for-each-ref").splitlines() if not any(f"\t{ours}" in row for ours in OURS)]
    files = {f"{top.name}/{name}": value for top in {where, common} for name, value in _bytes_below(top).items()}
    return Fingerprint(
        files,
        ""
        if bare
        else git(where, *_NO_FILTERS, "status", "--porcelain=v2", "--branch", "--ignored", GIT_OPTIONAL_LOCKS="0"),
        "\n".join(refs),
        "" if bare else git(where, "stash", "list", "--format=%H %gd %gs"),
        git(where, "reflog", "--format=%H %gd %gs", "HEAD"),
        frozenset(_fsck(where)),
        frozenset(path.relative_to(common).as_posix() for path in (common / "objects").rglob("*") if path.is_file()),
    )


def _bytes_below(top: Path) -> dict[str, tuple[bytes, int]]:
    found: dict[str, tuple[bytes, int]] = {}
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top).as_posix()
        inside = name[name.find(".git/") + 5 :] if ".git/" in name else name
        if inside.startswith(("objects/", *OURS, *(f"logs/{ours}" for ours in OURS))):
            continue
        if path.is_symlink():
            found[name] = (str(path.readlink()).encode(), 0)
        elif path.is_file():
            # Whoever reads a split index freshens the shared part's time, so that it is not cleared away.
            stamp = 0 if path.name.startswith("sharedindex.") else path.stat().st_mtime_ns
            found[name] = (path.read_bytes(), stamp)
    return found


def _fsck(where: Path) -> list[str]:
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "fsck", "--strict", "--no-dangling", "--no-progress"],
        cwd=where,
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stdout + done.stderr).splitlines()


def clean(folder: Path) -> Path:
    """As it was committed."""
    return folder


def dirty(folder: Path) -> Path:
    """Changed, new, ignored and deleted files, of the skill too."""
    lay(folder, {"README.md": b"unstaged\n", "new.txt": b"n", ".git/info/exclude": b"*.log\n", "x.log": b"l"})
    lay(folder, {f"{SKILL_PATH}/SKILL.md": b"half written", f"{SKILL_PATH}/new": b"u"})
    (folder / "team/notes.txt").unlink()
    return folder


def staged(folder: Path) -> Path:
    """Staged and then changed again; a new file that is only meant to be added."""
    lay(folder, {"team/notes.txt": b"staged\n", f"{SKILL_PATH}/SKILL.md": b"staged skill"})
    git(folder, "add", "-A")
    lay(folder, {"team/notes.txt": b"and again\n", "later.txt": b"later"})
    git(folder, "add", "-N", "later.txt")
    return folder


def stashes(folder: Path) -> Path:
    """Two stashes, one with untracked files and one of the skill."""
    lay(folder, {"README.md": b"first\n", "untracked": b"u"})
    git(folder, "stash", "-q", "--include-untracked")
    lay(folder, {f"{SKILL_PATH}/SKILL.md": b"second\n"})
    git(folder, "stash", "-q")
    return folder


def _fork(folder: Path) -> None:
    """Branches `main` and `side` that conflict in the skill."""
    for branch, text in (("side", b"theirs\n"), ("main", b"ours\n")):
        git(folder, "switch", "-q", *(["-c", branch] if branch == "side" else [branch]))
        lay(folder, {f"{SKILL_PATH}/references/crlf_md": text, "README.md": text})
        git(folder, "commit", "-qam", f"On {branch}")


def _stopped(folder: Path, *argv: str) -> Path:
    """A command of git's that stops at a conflict."""
    _fork(folder)
    with pytest.raises(AssertionError):
        git(folder, *argv)
    assert "both modified" in git(folder, "status")
    return folder


def merging(folder: Path) -> Path:
    """A merge waits for its conflict."""
    return _stopped(folder, "merge", "side")


def rebasing(folder: Path) -> Path:
    """A rebase waits for its conflict."""
    return _stopped(folder, "rebase", "side")


def picking(folder: Path) -> Path:
    """A cherry-pick waits for its conflict."""
    return _stopped(folder, "cherry-pick", "side")


def reverting(folder: Path) -> Path:
    """A revert waits for its conflict."""
    _fork(folder)
    lay(folder, {"README.md": b"later\n", f"{SKILL_PATH}/references/crlf_md": b"later"})
    git(folder, "commit", "-qam", "Later")
    with pytest.raises(AssertionError):
        git(folder, "revert", "--no-edit", "HEAD~1")
    return folder


def bisecting(folder: Path) -> Path:
    """A bisection of somebody's own."""
    _fork(folder)
    git(folder, "bisect", "start", "HEAD", "HEAD~2")
    return folder


def detached(folder: Path) -> Path:
    """HEAD is on no branch."""
    git(folder, "checkout", "-q", "--detach")
    return folder


def submodules(folder: Path) -> Path:
    """One beside the skill and one in the folder above it, with changes inside."""
    other = a_repository(folder.with_name(folder.name + "-other"))
    for place in ("vendor", "team/vendor"):
        git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), place)
    git(folder, "commit", "-qm", "Vendor")
    lay(folder, {"team/vendor/README.md": b"changed inside\n"})
    return folder


def linked(folder: Path) -> Path:
    """Honed works from a linked work tree; both are dirty."""
    where = folder.with_name(folder.name + "-linked")
    git(folder, "worktree", "add", "-q", "-b", "feature", str(where))
    dirty(folder)
    return staged(where)


def beside_linked(folder: Path) -> Path:
    """Others have work trees on branches of their own, one of them locked, one gone."""
    for name in ("a", "b", "gone"):
        git(folder, "worktree", "add", "-q", "-b", name, str(folder.with_name(f"{folder.name}-{name}")))
    git(folder, "worktree", "lock", str(folder.with_name(f"{folder.name}-b")))
    shutil.rmtree(folder.with_name(f"{folder.name}-gone"))
    return folder


def sparse(folder: Path) -> Path:
    """The skill is outside the cone."""
    lay(folder, {"src/a": b"a"})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Source")
    git(folder, "sparse-checkout", "set", "--cone", "src")
    assert not (folder / SKILL_PATH).exists()
    return folder


def sparse_index(folder: Path) -> Path:
    """And the index holds whole folders as one entry."""
    sparse(folder)
    git(folder, "sparse-checkout", "reapply", "--sparse-index")
    return folder


def sparse_patterns(folder: Path) -> Path:
    """By patterns, with a part of the skill."""
    git(folder, "sparse-checkout", "set", "--no-cone", "/README.md", f"/{SKILL_PATH}/SKILL.md")
    return folder


def split_index(folder: Path) -> Path:
    """The index in two files."""
    git(folder, "config", "core.splitIndex", "true")
    git(folder, "update-index", "--split-index")
    lay(folder, {"team/notes.txt": b"staged\n"})
    git(folder, "add", "-A")
    return folder


def many_files(folder: Path) -> Path:
    """Index version 4 with the untracked cache."""
    git(folder, "config", "feature.manyFiles", "true")
    git(folder, "update-index", "--index-version", "4", "--untracked-cache", "--force-untracked-cache")
    git(folder, "status")
    return folder


def _cloned(folder: Path, *argv: str) -> Path:
    where = folder.with_name(folder.name + "-clone")
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder.parent, "clone", "-q", *argv, str(where))
    return where


def shallow(folder: Path) -> Path:
    """Only the newest commits."""
    return _cloned(folder, "--depth", "1", f"file://{folder}")


def partial(folder: Path) -> Path:
    """Without the blobs that nobody has looked at."""
    return _cloned(folder, "--filter=blob:none", "--no-checkout", f"file://{folder}")


def treeless(folder: Path) -> Path:
    """Without blobs and trees."""
    return _cloned(folder, "--filter=tree:0", "--no-checkout", f"file://{folder}")


def bare(folder: Path) -> Path:
    """No work tree."""
    return _cloned(folder, "--bare", str(folder))


def borrowing(folder: Path) -> Path:
    """Objects are somebody else's."""
    return _cloned(folder, "--shared", str(folder))


def separate(folder: Path) -> Path:
    """The git folder lies elsewhere."""
    git(folder, "init", "-q", f"--separate-git-dir={folder.with_name(folder.name + '-git')}")
    return folder


def elsewhere(folder: Path) -> Path:
    """`core.worktree` names another folder."""
    where = folder.with_name(folder.name + "-tree")
    where.mkdir()
    git(folder, "config", "core.worktree", str(where))
    return folder


def packed(folder: Path) -> Path:
    """Refs and objects packed, with a commit graph; honed's branch and a tag among them."""
    git(folder, "tag", "-a", "v1", "-m", "One")
    git(folder, "branch", "honed/xlsx")
    git(folder, "pack-refs", "--all", "--prune")
    git(folder, "repack", "-adq")
    git(folder, "commit-graph", "write", "--reachable")
    return folder


def hooks(folder: Path) -> Path:
    """Every hook leaves a mark and fails, in .git/hooks and where core.hooksPath says."""
    for place in (".git/hooks", "team-hooks"):
        for name in HOOKS:
            lay(folder, {f"{place}/{name}": b"#!/bin/sh\ntouch " + str(mark(folder)).encode() + b"\nexit 1\n"})
            (folder / place / name).chmod(0o755)
    git(folder, "config", "core.hooksPath", "team-hooks")
    git(folder, "config", "core.fsmonitor", f"touch {mark(folder)}; false")
    return folder


HOOKS = (
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push pre-auto-gc post-rewrite post-index-change "
    "reference-transaction fsmonitor-watchman push-to-checkout"
).split()


def mark(folder: Path) -> Path:
    """What a program of the repository's configuration leaves if it is run."""
    return folder.with_name("a-program-ran")


def programs(folder: Path) -> Path:
    """Filters, text converters, external diffs, signing and editors that leave a mark and fail."""
    attributes = (
        b"* filter=mine diff=mine merge=mine\nteam/skills/xlsx/assets/raw filter=lfs diff=lfs merge=lfs -text\n"
    )
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345\n" % (b"a" * 64)
    lay(folder, {".gitattributes": attributes, f"{SKILL_PATH}/assets/raw": pointer})
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Keep it elsewhere")
    bad = f"touch {mark(folder)}; false"
    for key in (
        *(f"filter.{name}.{what}" for name in ("mine", "lfs") for what in ("clean", "smudge", "process")),
        *("diff.mine.textconv", "diff.mine.command", "diff.external", "merge.mine.driver", "merge.lfs.driver"),
        *("core.editor", "core.pager", "core.sshCommand", "core.askPass", "sequence.editor", "gpg.program"),
    ):
        git(folder, "config", key, bad)
    for key in ("filter.mine.required", "filter.lfs.required", "commit.gpgSign", "tag.gpgSign", "log.showSignature"):
        git(folder, "config", key, "true")
    (folder / SKILL_PATH / "SKILL.md").touch()
    (folder / SKILL_PATH / "assets/raw").touch()
    return folder


def line_ends(folder: Path) -> Path:
    """Checked out with CRLF; attributes that rewrite text."""
    lay(folder, {".gitattributes": b"* text=auto eol=crlf ident\n*.md working-tree-encoding=UTF-16\n"})
    git(folder, "-c", "core.safecrlf=false", "add", ".gitattributes")
    git(folder, "commit", "-qm", "Line ends")
    for key in ("core.autocrlf", "core.ignoreCase", "core.precomposeUnicode", "core.protectHFS"):
        git(folder, "config", key, "true")
    git(folder, "config", "core.safecrlf", "false")
    git(folder, "config", "core.fileMode", "false")
    return folder


def habits(folder: Path) -> Path:
    """Settings that change what git prints, signs, follows or writes."""
    for key, value in (
        ("color.ui", "always"),
        ("core.quotePath", "true"),
        ("core.abbrev", "4"),
        ("core.logAllRefUpdates", "always"),
        ("log.date", "relative"),
        ("log.follow", "true"),
        ("log.decorate", "full"),
        ("log.mailmap", "true"),
        ("blame.showEmail", "true"),
        ("diff.renames", "copies"),
        ("diff.noprefix", "true"),
        ("status.showUntrackedFiles", "no"),
        ("i18n.commitEncoding", "ISO-8859-1"),
        ("user.useConfigOnly", "true"),
        ("gc.auto", "1"),
        ("fetch.prune", "true"),
        ("push.default", "matching"),
        ("push.followTags", "true"),
        ("core.sharedRepository", "group"),
        ("merge.conflictStyle", "zdiff3"),
        ("extensions.worktreeConfig", "true"),
    ):
        git(folder, "config", key, value)
    git(folder, "replace", "HEAD", "HEAD~1")
    lay(folder, {".mailmap": b"Somebody Else <else@example.com> <person@example.com>\n"})
    return folder


def given_away(folder: Path) -> Path:
    """Another user owns it."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository away")
    subprocess.run(["chown", "-R", "65534:65534", str(folder)], check=True)
    return folder


def odd_path(folder: Path) -> Path:
    """Blanks, quotes and letters of other scripts on the way."""
    where = folder.with_name("my 'skills' \u00fc\u4e2d\n $(x)")
    folder.rename(where)
    return where


def sha256(folder: Path) -> Path:
    """The newer object format."""
    where = folder.with_name(folder.name + "-256")
    where.mkdir()
    git(where, "init", "-q", "-b", "main", "--object-format=sha256")
    return template(where)


def reftable(folder: Path) -> Path:
    """The newer store of refs."""
    where = folder.with_name(folder.name + "-reftable")
    where.mkdir()
    try:
        git(where, "init", "-q", "-b", "main", "--ref-format=reftable")
    except AssertionError:
        pytest.skip("this git knows no reftable")
    return template(where)


STATES: tuple[State, ...] = (
    *(clean, dirty, staged, stashes, merging, rebasing, picking, reverting, bisecting, detached, submodules),
    *(linked, beside_linked, sparse, sparse_index, sparse_patterns, split_index, many_files, shallow, partial),
    *(treeless, bare, borrowing, separate, elsewhere, packed, hooks, programs, line_ends, habits, given_away),
    *(odd_path, sha256, reftable),
)
