"""Reports as git notes: what git shows, other people's notes, and many at once."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from skills_repo.git import Git
from skills_repo.history import RepositoryError
from skills_repo.notes import REF, ReportNotes
from tests.support.skills import HONED, a_repository_of, git

TEXT = "run: r1\nselection: before=0.100 after=0.900\n"


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize("kind", ["plain", "bare", "sha256"])
async def test_git_shows_the_report(tmp_path: Path, kind: str) -> None:
    folder = a_repository_of(tmp_path, kind)
    await ReportNotes(folder, author=HONED).append(head(folder), TEXT, when=7.0)
    assert git(folder, "notes", "--ref=honed", "show") == TEXT
    assert "Notes (honed):\n    run: r1" in git(folder, "log", "--notes=honed")
    assert git(folder, "fsck", "--strict") == ""
    assert git(folder, "show", "-s", "--format=%an <%ae> %at", REF).strip() == "honed <honed@localhost> 7"


async def test_several_runs_on_one_commit_stand_one_below_the_other_each_once(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    notes = ReportNotes(folder, author=HONED)
    for run in ("r1", "r2", "r1", "r12", "r2"):
        await notes.append(head(folder), f"run: {run}\nx: y\n", when=7.0)
    assert git(folder, "notes", "--ref=honed", "show") == "run: r1\nx: y\n\nrun: r2\nx: y\n\nrun: r12\nx: y\n"
    assert git(folder, "rev-list", "--count", REF).strip() == "3"


@pytest.mark.parametrize("many", [1, 400])
async def test_peoples_notes_stay_and_git_finds_ours_among_many(tmp_path: Path, many: int) -> None:
    folder = a_repository_of(tmp_path, "plain")
    rows = [f"reset refs/heads/main\nfrom {head(folder)}\n\n"]
    rows += [
        f"commit refs/heads/main\nmark :{n}\ncommitter A <a@b> {n} +0000\ndata 2\nx\n\n" for n in range(1, many + 1)
    ]
    rows.append("commit refs/notes/honed\ncommitter A <a@b> 1 +0000\ndata 2\nn\n")
    rows += [f"N inline :{n}\ndata 5\nhand\n\n" for n in range(1, many + 1)]
    command = ["git", "fast-import", "--quiet"]
    subprocess.run(command, cwd=folder, input="".join(rows).encode(), check=True)
    newest, first = head(folder), git(folder, "rev-list", "--max-parents=0", "HEAD").strip()
    notes = ReportNotes(folder, author=HONED)
    for commit in (newest, first):
        await notes.append(commit, TEXT, when=7.0)
    assert git(folder, "notes", "--ref=honed", "show", newest) == f"hand\n\n{TEXT}"
    assert git(folder, "notes", "--ref=honed", "show", first) == TEXT
    assert len(git(folder, "notes", "--ref=honed", "list").splitlines()) == many + 1
    if many > 1:
        assert git(folder, "notes", "--ref=honed", "show", f"{newest}~7") == "hand\n"
    git(folder, "notes", "--ref=honed", "append", "-m", "by hand", first)  # git goes on with what we wrote
    assert git(folder, "notes", "--ref=honed", "show", first) == f"{TEXT}\nby hand\n"


async def test_what_else_the_ref_holds_is_kept(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    blob = git(folder, "rev-parse", "HEAD:README.md").strip()
    tree = Git(folder).line("mktree", stdin=f"100644 blob {blob}\tREADME\n".encode())
    git(folder, "update-ref", REF, git(folder, "commit-tree", "-m", "x", tree).strip())
    await ReportNotes(folder, author=HONED).append(head(folder), TEXT, when=7.0)
    assert git(folder, "show", f"{REF}:README") == "readme\n"


async def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    commit = head(folder)
    await asyncio.gather(
        *[ReportNotes(folder, author=HONED).append(commit, f"run: r{n}\n", when=7.0) for n in range(4)]
    )
    shown = git(folder, "notes", "--ref=honed", "show")
    assert sorted(line for line in shown.splitlines() if line) == ["run: r0", "run: r1", "run: r2", "run: r3"]


async def test_configuration_of_notes_and_hooks_have_no_say(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    for key, value in (
        ("core.notesRef", "refs/notes/other"),
        ("notes.displayRef", "x"),
        ("notes.mergeStrategy", "ours"),
    ):
        git(folder, "config", key, value)
    hook = folder / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    index = (folder / ".git/index").read_bytes()
    await ReportNotes(folder, author=HONED).append(head(folder), TEXT, when=7.0)
    assert git(folder, "for-each-ref", "--format=%(refname)", "refs/notes").strip() == REF
    assert (folder / ".git/index").read_bytes() == index


async def test_an_unknown_commit_is_refused(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    with pytest.raises(RepositoryError, match="there is no commit"):
        await ReportNotes(folder, author=HONED).append("f" * 40, TEXT, when=7.0)
    with pytest.raises(RepositoryError, match="neither a full commit id"):
        await ReportNotes(folder, author=HONED).append("--all", TEXT, when=7.0)
    assert git(folder, "for-each-ref", "refs/notes") == ""


async def test_a_ref_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    folder = a_repository_of(tmp_path, "plain")
    git(folder, "update-ref", f"{REF}/below", "HEAD")
    with pytest.raises(RepositoryError, match=f"{folder}: git update-ref failed"):
        await ReportNotes(folder, author=HONED).append(head(folder), TEXT, when=7.0)
