"""Where frontmatter ends, and YAML that bites."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skills_repo.frontmatter import parse, split
from skills_repo.skill import SkillError


@pytest.mark.parametrize(
    ("text", "yaml", "body"),
    [
        ("---\na: b\n---\nbody\n", "a: b\n", "body\n"),
        ("---\r\na: b\r\n---\r\nbody\r\n", "a: b", "body\r\n"),
        ("---\na: b\n---", "a: b\n", ""),
        ("--- \na: '---'\n---\t\n---\nbody", "a: '---'\n", "---\nbody"),
        ("---\na: |\n ---\n----\n---\n", "a: |\n ---\n----\n", ""),
    ],
)
def test_the_head_ends_at_the_second_fence(text: str, yaml: str, body: str) -> None:
    parts = split(text)
    assert parts.frontmatter.strip() == yaml.strip()
    assert parts.body == body
    assert parts.head + parts.body == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no frontmatter"),
        ("# Title\n---\na: b\n---\n", "has no frontmatter"),
        ("\n---\na: b\n---\n", "has no frontmatter"),
        ("\ufeff---\na: b\n---\n", "byte order mark .*without BOM"),
        ("---\na: b\n", "not closed .*end it with a line `---`"),
        ("---\na: b\n ---\n", "not closed"),
        ("---", "not closed"),
    ],
)
def test_what_has_no_head_is_refused_with_the_remedy(text: str, said: str) -> None:
    with pytest.raises(SkillError, match=rf"^SKILL\.md:1: .*{said}"):
        split(text)


@settings(max_examples=120)
@given(st.lists(st.sampled_from(["---", "a: b", "", "--- ", "text"]), max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_cutting_loses_no_byte(lines: list[str], end: str) -> None:
    text = end.join(["---", *lines])
    try:
        parts = split(text)
    except SkillError:
        assert not any(line.rstrip() == "---" for line in lines)
    else:
        assert parts.head + parts.body == text
        assert parts.frontmatter == "" or parts.frontmatter in parts.head


def test_values_lines_and_blocks() -> None:
    front = parse("name: x\n\n# comment\ndescription: >\n  two\n  lines\nmetadata:\n  version: '1'\n")
    assert front.values == {"name": "x", "description": "two lines\n", "metadata": {"version": "1"}}
    assert front.lines == {"name": 2, "description": 5, "metadata": 8}
    assert front.block_scalars == ("description",)


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("yaml", "line", "said"),
    [
        ("", 2, "is not a mapping"),
        ("- a\n", 2, "is not a mapping"),
        ("text\n", 2, "is not a mapping"),
        ("a: b\na: c\n", 3, "the key `a` twice"),
        ("m:\n  a: b\n  a: c\n", 4, "the key `a` twice"),
        ("a: b: c\n", 2, 'not valid YAML: .*in "double quotes"'),
        ("a: 'open\n", 3, "not valid YAML"),
        ("a: @b\n", 2, "not valid YAML"),
        ("a:\n\t- b\n", 3, "not valid YAML"),
        ("a: \x01\n", 2, "not valid YAML"),
        ("a: 2024-13-45\n", 2, "not valid YAML"),
        (BOMB, 2, "anchor or alias"),
        ("a: *b\n", 2, "anchor or alias"),
        ("a: !!python/object/apply:os.system [id]\n", 2, "YAML tag"),
        ("a: !!binary aGk=\n", 2, "YAML tag"),
        ("<<: {a: b}\n", 2, "key that is not text"),
        ("1: a\n", 2, "key that is not text"),
        ("? [a]\n: b\n", 2, "key that is not text"),
        ("a: " + "[" * 9 + "]" * 9 + "\n", 2, "nested too deep"),
        ("a: " + "[" * 5000, 2, "nested too deep"),
        ("a: " + "x" * 16384, 1, "longer than 16384 characters"),
        ("a: b\n...\nc: d\n", None, "not valid YAML"),
    ],
)
def test_yaml_that_bites_is_refused_in_one_line(yaml: str, line: int | None, said: str) -> None:
    with pytest.raises(SkillError, match=said) as raised:
        parse(yaml)
    assert "\n" not in str(raised.value)
    if line is not None:
        assert raised.value.line == line


@settings(max_examples=120)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"# \n\t?,%@`<\x00\x85", max_size=30))
def test_any_text_parses_or_is_refused(yaml: str) -> None:
    try:
        front = parse(yaml)
    except SkillError:
        return
    assert set(front.values) == set(front.lines)
