"""What only real git can show of blame: no configuration has a say, and a cut history is told."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from skills_repo.history import RepositoryError
from skills_repo.revert import revert
from tests.support.processes import children, descriptors
from tests.support.skills import SKILL_PATH, a_repository, a_skill, git, history_of, lay


def grown(folder: Path) -> Path:
    """A second commit that changes one line."""
    a_repository(folder)
    lay(folder / SKILL_PATH, a_skill("\n# Rules\n\n- one, changed\n- two\n").files)
    git(folder, "commit", "-qam", "Change a line")
    return folder


async def test_ignored_revisions_attributes_and_mail_maps_have_no_say(tmp_path: Path) -> None:
    folder = grown(tmp_path / "r")
    head = git(folder, "rev-parse", "HEAD").strip()
    ran = tmp_path / "ran"
    lay(
        folder,
        {
            ".git-blame-ignore-revs": f"{head}\n".encode(),
            ".gitattributes": b"*.md diff=evil\n",
            ".mailmap": b"Somebody Else <else@example.com> <person@example.com>\n",
        },
    )
    git(folder, "config", "blame.ignoreRevsFile", ".git-blame-ignore-revs")
    git(folder, "config", "diff.evil.textconv", f"touch {ran};cat")
    git(folder, "config", "blame.showEmail", "true")
    found = await history_of(folder).blame("HEAD", "SKILL.md", [8, 9])
    assert [blamed.commit.subject for blamed in found] == ["Change a line", "Add the skill"]
    assert found[0].commit.author == "A Person <person@example.com>"
    assert not ran.exists()


async def test_a_shallow_clone_says_that_its_history_is_cut(tmp_path: Path) -> None:
    folder = grown(tmp_path / "r")
    lay(folder / SKILL_PATH, a_skill("\n# Rules\n\n- one, changed\n- two, too\n").files)
    git(folder, "commit", "-qam", "Change another")
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{folder}", str(tmp_path / "shallow"))
    found = await history_of(tmp_path / "shallow").blame("HEAD", "SKILL.md", [8, 9])
    assert [(blamed.commit.subject, blamed.cut) for blamed in found] == [
        ("Change a line", True),
        ("Change another", False),
    ]


async def test_a_folder_that_was_renamed_keeps_its_authors(tmp_path: Path) -> None:
    folder = grown(tmp_path / "r")
    git(folder, "mv", SKILL_PATH, "team/skills/old")
    git(folder, "commit", "-qam", "Move away")
    git(folder, "mv", "team/skills/old", SKILL_PATH)
    git(folder, "commit", "-qam", "Move back")
    (found,) = await history_of(folder).blame("HEAD", "SKILL.md", [8])
    assert found.commit.subject == "Change a line"


async def test_reading_and_searching_leave_no_process_no_descriptor_and_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    folder = grown(tmp_path / "r")
    history = history_of(folder)
    head, base = git(folder, "rev-parse", "HEAD", "HEAD~1").split()

    async def all_of_it() -> tuple[int, int]:
        await history.log()
        await history.files("HEAD")
        await history.blame("HEAD", "SKILL.md", [8, 9])
        with pytest.raises(RepositoryError):
            await history.blame("HEAD", "SKILL.md", [99])
        with pytest.raises(RepositoryError, match="is the first one"):
            await revert(history, [await history.commit(base)], reason="", when=1)
        with history.bisection(base, head) as search:
            assert search.found == (head,)
        return children(), descriptors()

    before = await all_of_it()
    for _ in range(3):
        assert await all_of_it() == before
    assert list(scratch.iterdir()) == []


async def test_a_list_of_ignored_revisions_that_is_not_there_is_named(tmp_path: Path) -> None:
    folder = grown(tmp_path / "r")
    git(folder, "config", "blame.ignoreRevsFile", "nowhere")
    with pytest.raises(RepositoryError, match=r"list: nowhere \(`git config --get-all blame.ignoreRevsFile` names"):
        await history_of(folder).blame("HEAD", "SKILL.md", [8])
