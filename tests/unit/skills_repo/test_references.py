"""What counts as naming a reference, and which files edits may touch."""

from __future__ import annotations

import pytest

from skills_repo.editable import is_editable, wrong_pattern
from skills_repo.references import broken_rule, dead, mentions, unlinked
from skills_repo.skill import from_files
from tests.support.skills import a_skill


@pytest.mark.parametrize(
    "text",
    [
        "[forms](references/a.md)",
        "[forms](./references/a.md#fill)",
        "read `references/a.md` first",
        "Read references/a.md.",
        "${CLAUDE_SKILL_DIR}/references/a.md",
        "<skill>/references/a.md",
        "(references/a.md)",
        '"references/a.md", then',
        "\treferences/a.md\r\n",
    ],
)
def test_a_link_and_a_plain_mention_name_a_reference(text: str) -> None:
    assert mentions(text) == {"references/a.md"}


@pytest.mark.parametrize(
    "text",
    [
        "a.md",
        "other/references/a.md",
        "my-references/a.md",
        "references/a.md.bak",
        "references/a.mdx",
        "references/",
        "references a.md",
        "https://example.com/references/a.md",
        "../references/a.md",
        "references/data.csv",
    ],
)
def test_other_paths_do_not(text: str) -> None:
    assert mentions(text) == frozenset()


def test_the_frontmatter_names_nothing() -> None:
    text = a_skill().text.replace("Fix spreadsheets", "Fix as references/a.md says")
    skill = from_files("xlsx", {"SKILL.md": text.encode(), "references/a.md": b"x"})
    assert unlinked(skill) == {"references/a.md"}
    assert dead(skill) == frozenset()


def test_what_people_left_so_breaks_no_rule() -> None:
    before = from_files(
        "xlsx", {"SKILL.md": a_skill("\nread references/gone.md\n").text.encode(), "references/alone.md": b"x"}
    )
    after = before.with_text(before.text + "\nmore\n")
    assert broken_rule(before, after) is None
    assert broken_rule(before, after.with_file("references/new.md", b"x")) == (
        "not_linked",
        "SKILL.md would not name references/new.md",
    )


@pytest.mark.parametrize(
    ("path", "patterns", "expected"),
    [
        ("SKILL.md", (), True),
        ("references/a.md", ("references/*.md",), True),
        ("references/deep/a.md", ("references/*.md",), False),
        ("references/deep/a.md", ("references/**/*.md",), True),
        ("references/a.md", ("references/**/*.md",), True),
        ("a.md", ("references/*.md", "*.md"), True),
        ("scripts/a.py", ("**",), True),
        ("scripts/a.py", ("*",), False),
        ("scripts/A.PY", ("scripts/*.py",), False),
        ("a/references/a.md", ("references/*.md",), False),
    ],
)
def test_globs_match_whole_paths_folder_by_folder(path: str, patterns: tuple[str, ...], expected: bool) -> None:
    assert is_editable(path, patterns) is expected


@pytest.mark.parametrize("pattern", ["", "/etc/*", "../*", "a//b", "a/./b", "a\\b", "x" * 201])
def test_patterns_that_leave_the_folder_are_no_patterns(pattern: str) -> None:
    assert wrong_pattern(pattern)
    assert not wrong_pattern("references/*.md")
