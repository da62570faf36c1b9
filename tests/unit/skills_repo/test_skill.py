"""A skill folder as data: digest, reading from disk, odd paths and sizes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skills_repo import skill as module
from skills_repo.skill import Skill, SkillError, check_path, from_files, read_folder
from tests.support.skills import a_skill, lay, skill_text

FILES = {"SKILL.md": skill_text("\r\nx\n").encode(), "a/b.bin": b"\x00\xff\r\n", ".hidden": b""}


def test_reading_a_folder_gives_every_byte_in_order(tmp_path: Path) -> None:
    lay(tmp_path / "xlsx", FILES)
    lay(tmp_path / "xlsx", {".git/config": b"not the skill's", ".honed/journal.sqlite": b"honed's own"})
    skill = read_folder(tmp_path / "xlsx")
    assert skill == from_files("xlsx", FILES)
    assert list(skill.files) == [".hidden", "SKILL.md", "a/b.bin"]


def test_the_digest_sees_paths_and_bytes_and_nothing_else() -> None:
    one = Skill("x", {"SKILL.md": b"1", "a": b"2"})
    assert one.digest == Skill("y", {"a": b"2", "SKILL.md": b"1"}).digest
    others = (
        {"SKILL.md": b"1", "b": b"2"},
        {"SKILL.md": b"2", "a": b"1"},
        {"SKILL.md": b"1"},
        {"SKILL.md": b"1", "a2": b""},
    )
    assert len({one.digest, *(Skill("x", files).digest for files in others)}) == 5
    assert one.digest.startswith("sha256:")


def test_another_text_keeps_the_other_files() -> None:
    skill = from_files("xlsx", FILES).with_text("new \u00e9")
    assert skill.text == "new \u00e9"
    assert {**skill.files, "SKILL.md": b""} == {**FILES, "SKILL.md": b""}


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", ".", "..", "a/../b", ".git/x", "a/.GIT", "a\\b", "a\nb", "a\x00b", "x" * 256]
)
def test_paths_that_are_not_plain_are_refused(path: str) -> None:
    with pytest.raises(SkillError, match="rename or remove it") as raised:
        check_path(path)
    assert str(raised.value).isprintable()
    with pytest.raises(SkillError):
        from_files("xlsx", {**FILES, path: b""})


@pytest.mark.parametrize("path", ["a", "a/b c.md", ".gitignore", "\u00e9/\u4e2d", "-x", "x" * 255])
def test_plain_paths_pass(path: str) -> None:
    check_path(path)


def test_a_folder_without_skill_file_and_no_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match=rf"^{tmp_path}/SKILL\.md: is missing"):
        read_folder(tmp_path)
    with pytest.raises(SkillError, match=rf"^{tmp_path}/none: no such folder"):
        read_folder(tmp_path / "none")


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    lay(tmp_path / "xlsx", FILES)
    (tmp_path / "xlsx" / "link").symlink_to("/etc/passwd")
    with pytest.raises(SkillError, match="xlsx/link: is a link or a device"):
        read_folder(tmp_path / "xlsx")
    (tmp_path / "xlsx" / "link").unlink()
    os.mkfifo(tmp_path / "xlsx" / "pipe")
    with pytest.raises(SkillError, match="xlsx/pipe: is a link or a device"):
        read_folder(tmp_path / "xlsx")


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path / "xlsx", FILES)
    monkeypatch.setattr(module, "MAX_BYTES", 20)
    with pytest.raises(SkillError, match="larger than 20 bytes"):
        from_files("xlsx", FILES)
    with pytest.raises(SkillError, match="too large"):
        read_folder(tmp_path / "xlsx")
    monkeypatch.undo()
    monkeypatch.setattr(module, "MAX_FILES", 2)
    with pytest.raises(SkillError, match="more than 2 files"):
        from_files("xlsx", FILES)


def test_an_error_is_one_line_and_can_be_placed_higher_up() -> None:
    error = SkillError("is\nodd", remedy="mend it", line=3)
    assert str(error) == "SKILL.md:3: is odd (mend it)"
    assert str(error.below("skills/xlsx")) == "skills/xlsx/SKILL.md:3: is odd (mend it)"


def test_the_callers_mapping_is_copied() -> None:
    files = dict(FILES)
    skill = from_files("xlsx", files)
    files["SKILL.md"] = b"other"
    assert skill.files["SKILL.md"] == FILES["SKILL.md"]
    assert a_skill() == a_skill()
