"""What only real git can show of rejected edits: refs that people can read, forge and delete."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from skills_repo.history import RepositoryError
from skills_repo.rejected_refs import RejectedRefs
from tests.support.rejected import rejected, with_lines
from tests.support.skills import HONED, SKILL_PATH, a_repository_of, git, history_of

CHANGES = (rejected(with_lines("- one"), of=2), rejected(with_lines("- one", "- two"), position=2, of=2))


def store_of(folder: Path) -> RejectedRefs:
    return RejectedRefs(folder, SKILL_PATH, author=HONED)


@pytest.mark.parametrize("kind", ["plain", "bare", "sha256"])
async def test_git_shows_them_below_the_skills_name(tmp_path: Path, kind: str) -> None:
    folder = a_repository_of(tmp_path, kind)
    base = await history_of(folder).base()
    first, second = await store_of(folder).keep("r1.3", base, CHANGES, by="gate", when=7.0)
    log = git(folder, "log", "--format=%H %(trailers:key=Honed-Step,valueonly)", "refs/honed/rejected/xlsx/r1.3")
    assert log.split("\n")[:3] == [f"{second} 1.2/2", "", f"{first} 1.1/2"]
    assert git(folder, "branch", "--list").strip() == "* main"
    assert git(folder, "tag", "--list") == ""
    assert git(folder, "fsck", "--strict") == ""
    assert [one.sha for one in await store_of(folder).all()] == [first, second]
    await store_of(folder).prune(older_than=9.0, most=9)
    assert git(folder, "for-each-ref", "refs/honed") == ""


async def test_a_persons_things_stay_as_they_are(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    (folder / "README.md").write_text("unstaged\n")
    (folder / "staged").write_text("s\n")
    git(folder, "add", "staged")
    git(folder, "status", "--porcelain")
    mine = [folder / ".git" / name for name in ("index", "config", "HEAD", "logs/HEAD", "refs/heads/main")]
    before = [path.read_bytes() for path in mine]
    base = await history_of(folder).base()
    await store_of(folder).keep("r1.1", base, CHANGES, by="gate", when=7.0)
    await store_of(folder).all()
    await store_of(folder).prune(older_than=9.0, most=9)
    assert [path.read_bytes() for path in mine] == before
    assert sorted(git(folder, "status", "--porcelain").splitlines()) == [" M README.md", "A  staged"]


async def test_many_that_keep_the_same_at_once_come_to_one(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    base = await history_of(folder).base()
    found = await asyncio.gather(
        *[store_of(folder).keep("r1.1", base, CHANGES, by="gate", when=float(n)) for n in range(6)]
    )
    assert len(set(found)) == 1
    assert [one.sha for one in await store_of(folder).all()] == list(found[0])


async def test_another_skills_sets_are_not_seen(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    base = await history_of(folder).base()
    await store_of(folder).keep("r1.1", base, CHANGES, by="gate", when=7.0)
    git(
        folder,
        "update-ref",
        "refs/honed/rejected/xlsx-2/r1.1",
        git(folder, "rev-parse", "refs/honed/rejected/xlsx/r1.1").strip(),
    )
    other = RejectedRefs(folder, "team/skills/other", author=HONED)
    assert await other.all() == ()
    assert await other.prune(older_than=99.0, most=0) == ()
    assert await store_of(folder).prune(older_than=99.0, most=0) == ("r1.1",)
    assert git(folder, "for-each-ref", "--format=%(refname)", "refs/honed").strip() == "refs/honed/rejected/xlsx-2/r1.1"


def forge(folder: Path, name: str, text: str, target: str = "HEAD", kind: str = "commit") -> None:
    tag = folder / "tag"
    oid = git(folder, "rev-parse", target).strip()
    tag.write_text(f"object {oid}\ntype {kind}\ntag {name}\ntagger A <a@b> 5 +0000\n\n{text}")
    made = git(folder, "hash-object", "-t", "tag", "-w", str(tag)).strip()
    tag.unlink()
    git(folder, "update-ref", f"refs/honed/rejected/xlsx/{name}", made)


async def test_refs_that_others_made_there_are_neither_read_nor_dropped(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    base = await history_of(folder).base()
    kept = await store_of(folder).keep("r1.1", base, CHANGES, by="gate", when=7.0)
    git(folder, "update-ref", "refs/honed/rejected/xlsx/plain", "HEAD")
    git(folder, "update-ref", "refs/honed/rejected/xlsx/tree", "HEAD^{tree}")
    forge(folder, "nobody", f"Honed-Rejected: nobody\nHoned-Commit: {base}\n")
    forge(folder, "empty", "Honed-Rejected: gate\n")
    forge(folder, "option", "Honed-Rejected: gate\nHoned-Commit: --all\n")
    forge(folder, "twice", f"Honed-Rejected: gate\nHoned-Rejected: person\nHoned-Commit: {base}\n")
    assert [one.sha for one in await store_of(folder).all()] == list(kept)
    await store_of(folder).prune(older_than=99.0, most=0)
    assert len(git(folder, "for-each-ref", "refs/honed").splitlines()) == 6


async def test_ids_that_lead_nowhere_do_not_hide_the_others(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    base = await history_of(folder).base()
    kept = await store_of(folder).keep("r1.1", base, CHANGES, by="gate", when=7.0)
    tree = git(folder, "rev-parse", "HEAD^{tree}").strip()
    reason = "\x1b[31m" + "x" * 5_000 + "@all"
    rows = "".join(f"Honed-Commit: {oid}\n" for oid in ("f" * 40, tree, base))
    forge(folder, "odd", f"Honed-Rejected: person\nHoned-Reason: {reason}\n{rows}")
    found = await store_of(folder).all()
    assert [one.sha for one in found] == [*kept, base]
    assert found[-1].parent == ""
    assert len(found[-1].reason) == 400
    assert "\x1b" not in found[-1].reason


async def test_a_set_that_was_deleted_by_hand_is_gone_and_may_come_again(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    base = await history_of(folder).base()
    kept = await store_of(folder).keep("r1.1", base, CHANGES, by="gate", when=7.0)
    git(folder, "update-ref", "-d", "refs/honed/rejected/xlsx/r1.1")
    assert await store_of(folder).all() == ()
    git(folder, "gc", "-q", "--prune=now")
    assert await store_of(folder).keep("r1.1", base, CHANGES, by="gate", when=7.0) == kept


async def test_a_repository_that_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match=f"{tmp_path} is not a git repository"):
        await store_of(tmp_path).all()


async def test_a_name_in_the_way_is_an_error_that_names_the_repository(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    base = await history_of(folder).base()
    git(folder, "update-ref", "refs/honed/rejected/xlsx/r1.1/below", "HEAD")
    with pytest.raises(RepositoryError, match=f"{folder}: git update-ref failed"):
        await store_of(folder).keep("r1.1", base, CHANGES, by="gate", when=7.0)
