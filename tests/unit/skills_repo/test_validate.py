"""SKILL.md against the open specification: what is wrong, what is doubtful, what is fine."""

from __future__ import annotations

import pytest

from skills_repo import guarded
from skills_repo.frontmatter import parse, split
from skills_repo.skill import Skill, SkillError, from_files, initial_skill
from skills_repo.validate import validate
from tests.support.skills import a_skill, skill_text

LONG = "x" * 64


def _skill(front: str, body: str = "\ntext\n", *, name: str = "xlsx") -> Skill:
    return from_files(name, {"SKILL.md": f"---\n{front}\n---\n{body}".encode(), "a.md": b""})


def test_a_plain_skill_is_valid_without_a_warning() -> None:
    assert validate(a_skill()) == ()
    front = 'name: xlsx\ndescription: "x"\nlicense: MIT\ncompatibility: "Python 3"\nallowed-tools: "Bash Read"'
    assert validate(_skill(front + "\nmetadata:\n  version: '1'\n  author: team")) == ()


@pytest.mark.parametrize(
    ("front", "line", "said"),
    [
        ("description: x", 1, "name is missing .*add `name: xlsx`"),
        ("name: xlsx", 1, "description is missing"),
        ("name: docx\ndescription: x", 2, "name is not its folder's name `xlsx`"),
        ("name: Xlsx\ndescription: x", 2, "name is not valid"),
        ("name: -xlsx\ndescription: x", 2, "name is not valid"),
        ("name: xlsx-\ndescription: x", 2, "name is not valid"),
        ("name: xl--sx\ndescription: x", 2, "name is not valid"),
        ("name: xl_sx\ndescription: x", 2, "name is not valid"),
        ("name: xl sx\ndescription: x", 2, "name is not valid"),
        ("name: \u212alsx\ndescription: x", 2, "name is not valid"),
        (f"name: {LONG}x\ndescription: x", 2, "name has 65 characters .*at most 64"),
        ("name: 123\ndescription: x", 2, "name is not text"),
        ("description: x\nname: ''", 3, "name is empty"),
        ("name: xlsx\ndescription: ' '", 3, "description is empty"),
        ("name: xlsx\ndescription:", 3, "description is not text"),
        ("name: xlsx\ndescription: true", 3, "description is not text"),
        ("name: xlsx\ndescription: [a]", 3, "description is not text"),
        (f"name: xlsx\ndescription: {'x' * 1025}", 3, "description has 1025 characters .*at most 1024"),
        (f"name: xlsx\ndescription: x\ncompatibility: {'x' * 501}", 4, "compatibility has 501 characters"),
        ("name: xlsx\ndescription: x\nlicense: 3", 4, "license is not text"),
        ("name: xlsx\ndescription: x\nallowed-tools: {a: b}", 4, "allowed-tools is not text"),
        ("name: xlsx\ndescription: x\nmetadata: text", 4, "metadata is not a map"),
        ("name: xlsx\ndescription: x\nmetadata: {a: [b]}", 4, "metadata has a nested value at `a`"),
        ("name: xlsx\ndescription: x\nmetadata: {a: {b: c}}", 4, "metadata has a nested value at `a`"),
    ],
)
def test_what_is_wrong_names_line_and_remedy(front: str, line: int, said: str) -> None:
    with pytest.raises(SkillError, match=rf"^SKILL\.md:{line}: {said}") as raised:
        validate(_skill(front))
    assert raised.value.remedy


@pytest.mark.parametrize("name", ["a", "a1", "pdf-forms-2", LONG])
def test_good_names(name: str) -> None:
    assert validate(_skill(f"name: '{name}'\ndescription: x", name=name)) == ()


@pytest.mark.parametrize(
    ("front", "body", "said"),
    [
        ('description: "a <b>"', "t\n", "SKILL.md:3: description has < or >"),
        ("description: >\n  a", "t\n", "SKILL.md:3: description is a YAML block"),
        ('description: "a\u200bb"', "t\n", "SKILL.md:3: description has hidden characters"),
        ("description: a\nmodel: opus", "t\n", "SKILL.md:4: `model` is not in the open spec"),
        ("description: a\nallowed-tools: [Bash]", "t\n", "SKILL.md:4: allowed-tools is a list"),
        ("description: a\nmetadata: {version: 1.0}", "t\n", "SKILL.md:4: metadata `version` is not text"),
        ("description: a", "\n", "SKILL.md: the body is empty"),
        ("description: a", "x" * 20_001, "SKILL.md: 20001 characters; the spec advises"),
        ("description: a", "x\n" * 501, "SKILL.md: 501 lines; the spec advises"),
        ("description: a", "x\n\u202ey\n", "SKILL.md:6: hidden character U+202E"),
        ("description: a", "see [x](references/none.md)\n", "SKILL.md: links to `references/none.md`"),
    ],
)
def test_what_is_doubtful_warns_only(front: str, body: str, said: str) -> None:
    warnings = validate(_skill(f"name: xlsx\n{front}", body))
    assert [warning for warning in warnings if warning.startswith(said)], warnings


def test_links_that_lead_somewhere_are_fine() -> None:
    body = "[a](./a.md) [b](https://x.y/z) [c](#part) [d](mailto:a@b)\n"
    assert validate(_skill("name: xlsx\ndescription: x", body)) == ()


def test_bytes_that_are_not_utf8_and_marks_that_do_not_pair() -> None:
    with pytest.raises(SkillError, match="is not UTF-8"):
        validate(from_files("xlsx", {"SKILL.md": skill_text("").encode() + b"\xff"}))
    with pytest.raises(SkillError, match="do not pair"):
        validate(a_skill(f"\n{guarded.START}\n"))


def test_the_guarded_region_belongs_to_the_body() -> None:
    with pytest.raises(SkillError, match="inside the frontmatter"):
        validate(_skill(f"name: xlsx\ndescription: 'a\n\n{guarded.START}\n{guarded.END}\n  b'"))


@pytest.mark.parametrize(
    "description", ['Fix: all `things` "quoted" #1', "two\n lines", "caf\u00e9 \u2192 \\n", "- list"]
)
def test_a_fresh_skill_is_valid_and_says_what_it_was_told(description: str) -> None:
    skill = initial_skill("pdf-forms", description)
    assert validate(skill) == ()
    front = parse(split(skill.text).frontmatter)
    assert front.values == {"name": "pdf-forms", "description": " ".join(description.split())}
    assert skill.text.endswith("---\n\n# pdf-forms\n")
    assert "\r" not in skill.text
    assert not skill.files["SKILL.md"].startswith(b"\xef\xbb\xbf")


def test_a_file_that_is_kept_elsewhere_is_warned_of() -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12345\n"
    warnings = validate(from_files("xlsx", {"SKILL.md": skill_text("\n- one\n").encode(), "assets/model": pointer}))
    assert warnings == ("assets/model: is kept by Git LFS; agents get the pointer, not what it stands for",)
