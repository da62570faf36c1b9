"""What only real git can show: nobody's work is touched, nothing interferes, every refusal has a remedy."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from skills_repo import committing
from skills_repo.history import Author, RefMovedError, RepositoryError
from skills_repo.repository import SkillRepository
from tests.support.processes import children, descriptors
from tests.support.skills import HONED, SKILL_PATH, a_change, a_repository, a_skill, git, history_of, lay, skill_text

NEW = a_skill("\n- new\n")


def _bytes_below(folder: Path) -> dict[str, bytes]:
    """Everything a person owns: work tree, index, stash, configuration, HEAD; not objects and our branch."""
    skipped = (".git/objects/", ".git/refs/heads/honed/", ".git/logs/refs/heads/honed/")
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    named = ((path.relative_to(folder).as_posix(), path) for path in files)
    return {name: path.read_bytes() for name, path in named if not name.startswith(skipped)}


def _stamps(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_mtime_ns for name in _bytes_below(folder)}


def _soil(folder: Path) -> None:
    """A stash, a staged change, an unstaged one and an untracked file."""
    lay(folder, {"README.md": b"to be stashed\n"})
    git(folder, "stash", "-q")
    lay(folder, {"team/notes.txt": b"staged\n"})
    git(folder, "add", "team/notes.txt")
    lay(folder, {"README.md": b"unstaged\n", f"{SKILL_PATH}/SKILL.md": b"half written", f"{SKILL_PATH}/new": b"u"})


async def test_a_dirty_work_tree_index_and_stash_stay_byte_for_byte(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    _soil(folder)
    status = git(folder, "status", "--porcelain")  # first, for it may write the index
    before, stamps = _bytes_below(folder), _stamps(folder)
    history = history_of(folder)
    base = await history.base()
    assert await history.read(base) == a_skill()
    await history.commit_edits(base, [a_change(NEW)], 100)
    await history.log()
    await history.find_step("r-1", 1)
    assert await history.dirty() == (f"{SKILL_PATH}/SKILL.md", f"{SKILL_PATH}/new")
    assert _bytes_below(folder) == before
    assert _stamps(folder) == stamps
    assert git(folder, "status", "--porcelain") == status
    assert git(folder, "stash", "list").count("\n") == 1


async def test_siblings_and_file_modes_are_kept(tmp_path: Path) -> None:
    skill = a_skill(run_sh=b"#!/bin/sh\n", data=b"d")
    folder = a_repository(tmp_path / "r", skill)
    (folder / SKILL_PATH / "run_sh").chmod(0o755)
    git(folder, "commit", "-qam", "Make it run")
    history = history_of(folder)
    after = a_skill("\n- new\n", run_sh=b"#!/bin/sh\nexit 0\n", added=b"a")
    (made,) = await history.commit_edits(await history.base(), [a_change(after)], 100)
    rows = git(folder, "diff-tree", "-r", "--no-commit-id", made).splitlines()
    changed = {row.split("\t")[1].removeprefix(SKILL_PATH + "/"): row.split()[1] for row in rows}
    modes = {"SKILL.md": "100644", "added": "100644", "data": "000000", "run_sh": "100755"}
    assert changed == modes
    assert git(folder, "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.parametrize("kind", ["bare", "linked", "detached", "subfolder of a bare clone"])
async def test_every_kind_of_repository_serves(tmp_path: Path, kind: str) -> None:
    folder = a_repository(tmp_path / "r")
    where = tmp_path / "other"
    if kind == "linked":
        git(folder, "worktree", "add", "-q", "--detach", str(where))
    elif kind == "detached":
        git(folder, "checkout", "-q", "--detach")
        where = folder
    else:
        git(folder, "clone", "-q", "--bare", str(folder), str(where))
    history = history_of(where)
    base = await history.base()
    (made,) = await history.commit_edits(base, [a_change(NEW)], 100)
    assert git(where, "rev-parse", "refs/heads/honed/xlsx").strip() == made
    assert (await history.read(history.branch)).digest == NEW.digest
    assert await history.dirty() == ()
    assert git(folder, "status", "--porcelain") == ""


@pytest.mark.parametrize("where", ["main", "linked"])
async def test_a_checked_out_branch_is_refused_with_the_command_that_frees_it(tmp_path: Path, where: str) -> None:
    folder = a_repository(tmp_path / "r")
    tree = folder if where == "main" else tmp_path / "linked"
    if where == "main":
        git(folder, "checkout", "-q", "-b", "honed/xlsx")
    else:
        git(folder, "worktree", "add", "-q", "-b", "honed/xlsx", str(tree))
    history = history_of(folder)
    base = await history.base()
    with pytest.raises(RepositoryError, match=f"checked out at {tree}: .*`git -C {tree} switch --detach`"):
        await history.commit_edits(base, [a_change(NEW)], 100)
    assert await history.base() == base
    git(tree, "switch", "-q", "--detach")
    assert len(await history.commit_edits(base, [a_change(NEW)], 100)) == 1
    assert git(tree, "status", "--porcelain") == ""


async def test_a_work_tree_whose_folder_is_gone_holds_nothing_up(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    git(folder, "worktree", "add", "-q", "-b", "honed/xlsx", str(tmp_path / "gone"))
    (tmp_path / "gone").rename(tmp_path / "elsewhere")
    history = history_of(folder)
    assert len(await history.commit_edits(await history.base(), [a_change(NEW)], 100)) == 1


async def test_hooks_signing_identity_and_environment_have_no_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = history_of(a_repository(tmp_path / "plain"))
    wanted = await plain.commit_edits(await plain.base(), [a_change(NEW)], 100)
    folder = a_repository(tmp_path / "r")
    for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"):
        path = folder / ".git/hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\nexit 1\n")
        path.chmod(0o755)
    for key, value in (
        ("commit.gpgSign", "true"),
        ("gpg.program", "/bin/false"),
        ("log.showSignature", "true"),
        ("user.name", "Somebody"),
        ("user.useConfigOnly", "true"),
        ("i18n.commitEncoding", "ISO-8859-1"),
        ("color.ui", "always"),
        ("core.fsmonitor", f"touch {tmp_path}/hook-ran"),
        ("core.quotePath", "true"),
        ("log.date", "relative"),
        ("diff.orderFile", "/nowhere"),
    ):
        git(folder, "config", key, value)
    (tmp_path / "config").write_text("[core]\n\tbare = true\n[includeX\n")
    for name, value in (
        ("GIT_DIR", "/nowhere"),
        ("GIT_WORK_TREE", "/nowhere"),
        ("GIT_INDEX_FILE", str(tmp_path / "index")),
        ("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects")),
        ("GIT_CONFIG_GLOBAL", str(tmp_path / "config")),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.bare"),
        ("GIT_CONFIG_VALUE_0", "true"),
        ("GIT_NAMESPACE", "other"),
        ("GIT_TRACE", str(tmp_path / "trace")),
        ("GIT_AUTHOR_NAME", "Eve"),
        ("GIT_COMMITTER_DATE", "@5 +0100"),
        ("GIT_EDITOR", "false"),
    ):
        monkeypatch.setenv(name, value)
    history = history_of(folder)
    assert await history.commit_edits(await history.base(), [a_change(NEW)], 100) == wanted
    assert (await history.log())[0].author == f"{HONED.name} <{HONED.email}>"
    assert await history.dirty() == ()
    assert {path.name for path in tmp_path.iterdir()} == {"plain", "r", "config"}


async def test_dates_are_the_callers_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    history = history_of(a_repository(tmp_path / "r"))
    (made,) = await history.commit_edits(await history.base(), [a_change(NEW)], 1_700_000_000.7)
    raw = git(history.root, "cat-file", "commit", made)
    assert raw.count(f"{HONED.name} <{HONED.email}> 1700000000 +0000\n") == 2


async def test_reading_leaves_no_process_behind(tmp_path: Path) -> None:
    history = history_of(a_repository(tmp_path / "r"))

    await asyncio.gather(*[history.read("HEAD") for _ in range(10)])
    before = (children(), descriptors())
    for _ in range(5):
        await asyncio.gather(*[history.read("HEAD") for _ in range(10)])
    assert (children(), descriptors()) == before


async def test_commits_of_a_branch_that_was_deleted_are_not_brought_back(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    history = history_of(folder)
    (made,) = await history.commit_edits(await history.base(), [a_change(NEW)], 100)
    git(folder, "branch", "-D", "honed/xlsx")
    with pytest.raises(RefMovedError, match="is gone and HEAD does not contain"):
        await history.commit_edits(made, [a_change(a_skill("\n- more\n"))], 100)


async def test_a_merged_and_deleted_branch_starts_again_at_head(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    history = history_of(folder)
    (made,) = await history.commit_edits(await history.base(), [a_change(NEW)], 100)
    git(folder, "merge", "-q", "--ff-only", "honed/xlsx")
    git(folder, "branch", "-d", "honed/xlsx")
    assert await history.base() == made
    assert (await history.log())[0].kind == "edit"
    assert len(await history.commit_edits(made, [a_change(a_skill("\n- more\n"))], 100)) == 1


async def test_edits_are_found_behind_a_merge_that_took_the_other_side(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    history = history_of(folder)
    made = await history.commit_edits(await history.base(), [a_change(NEW)], 100)
    lay(folder, {"README.md": b"other\n"})
    git(folder, "commit", "-qam", "Go on elsewhere")
    git(folder, "merge", "-q", "-s", "ours", "--no-edit", "honed/xlsx")
    git(folder, "update-ref", history.branch, "main")
    assert await history.find_step("r-1", 1) == made
    assert made[0] in [commit.sha for commit in await history.log()]


async def test_a_shallow_clone_does_not_guess(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    first = git(folder, "rev-parse", "HEAD").strip()
    for number in range(2):
        lay(folder, {"README.md": b"%d" % number})
        git(folder, "commit", "-qam", "More")
    git(folder, "clone", "-q", "--depth", "1", f"file://{folder}", str(tmp_path / "shallow"))
    shallow = history_of(tmp_path / "shallow")
    assert (await shallow.read("HEAD")).digest == a_skill().digest
    assert len(await shallow.commit_edits(await shallow.base(), [a_change(NEW)], 100)) == 1
    assert await shallow.is_ancestor("HEAD", shallow.branch)
    with pytest.raises(RepositoryError, match="git fetch --unshallow"):
        await shallow.is_ancestor(shallow.branch, "HEAD")
    with pytest.raises(RepositoryError, match=f"no commit {first} in .*fetch it"):
        await shallow.is_ancestor(first, "HEAD")


async def test_a_sha256_repository_serves(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256")
    history = history_of(a_repository(folder, a_skill(gone=b"x")))
    (made,) = await history.commit_edits(await history.base(), [a_change(NEW)], 100)
    assert len(made) == 64
    assert (await history.read(made)).digest == NEW.digest


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
async def test_a_repository_that_another_user_owns_serves(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    subprocess.run(["chown", "-R", "65534:65534", str(folder)], check=True)
    history = history_of(folder)
    assert (await history.read("HEAD")).digest == a_skill().digest
    assert await history.dirty() == ()


async def test_an_author_with_odd_characters_does_no_harm(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    author = Author("Bot <evil>\nparent 0", "a@b\n")
    history = SkillRepository(folder, SKILL_PATH, author=author)
    (made,) = await history.commit_edits(await history.base(), [a_change(NEW)], 100)
    assert git(folder, "fsck", "--strict", "--no-dangling") == ""
    assert len((await history.log())[0].parents) == 1
    assert made


async def test_config_and_refs_of_others_are_as_before(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    git(folder, "branch", "feature")
    git(folder, "tag", "v1")
    refs = git(folder, "for-each-ref")
    history = history_of(folder)
    (made,) = await history.commit_edits(await history.base(), [a_change(NEW)], 100)
    now = git(folder, "for-each-ref").splitlines()
    assert [row for row in now if "honed/xlsx" not in row] == refs.splitlines()
    assert [row for row in now if "honed/xlsx" in row] == [f"{made} commit\trefs/heads/honed/xlsx"]


async def test_dying_before_the_branch_moves_leaves_no_trace_of_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = history_of(a_repository(tmp_path / "r"))
    base = await history.base()

    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(committing, "swap", die)
        with pytest.raises(KeyboardInterrupt):
            committing.commit_edits(history._refs, SKILL_PATH, base, (a_change(NEW),), author=HONED, when=100)
    assert await history.base() == base
    assert await history.find_step("r-1", 1) == ()
    made = await history.commit_edits(base, [a_change(NEW)], 100)
    assert await history.find_step("r-1", 1) == made


async def test_a_branch_that_cannot_move_is_known_before_any_work(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    history = history_of(folder)
    await history.check_writable()
    git(folder, "checkout", "-q", "-b", "honed/xlsx")
    with pytest.raises(RepositoryError, match="checked out"):
        await history.check_writable()


async def test_a_version_at_head_that_the_branch_lacks_is_told(tmp_path: Path) -> None:
    folder = a_repository(tmp_path / "r")
    history = history_of(folder)
    assert await history.overlooked() == ""
    await history.commit_edits(await history.base(), [a_change(NEW)], 100)
    assert await history.overlooked() == ""
    (folder / "README").write_text("other work\n")
    git(folder, "add", "README")
    git(folder, "commit", "-qm", "Other work")
    assert await history.overlooked() == "", "the skill is as it was when the branch left"
    git(folder, "merge", "-q", "--no-edit", "honed/xlsx")
    assert await history.overlooked() == ""
    (folder / SKILL_PATH / "SKILL.md").write_text(skill_text("\n# Rules\n\n- another\n"))
    git(folder, "commit", "-qam", "Change the skill by hand")
    said = await history.overlooked()
    assert "merge HEAD into it" in said
    assert "honed/xlsx" in said
    assert SKILL_PATH in said
    (folder / SKILL_PATH / "SKILL.md").unlink()
    git(folder, "commit", "-qam", "Remove the skill")
    assert "merge HEAD into it" in await history.overlooked()
