"""What only real git can show of blame: no configuration has a say, and a cut history is told."""

from __future__ import annotations

from pathlib import Path

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
