"""The YAML head of SKILL.md: where it ends, and what it says.

Invariants: `head + body` is the text, byte for byte; YAML is parsed without tags, anchors, aliases, duplicate keys or
deep nesting, so hostile frontmatter can neither run code nor blow up.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from skills_repo.skill import SkillError

MAX_CHARS = 16_384
MAX_DEPTH = 8
_FENCE = re.compile(r"---[ \t]*(?:\r\n|\n|\Z)")


@dataclass(frozen=True)
class Parts:
    """SKILL.md cut in two."""

    head: str
    """Both `---` lines, what is between them, and the line end after the second."""
    body: str

    @property
    def frontmatter(self) -> str:
        """The YAML between the fences."""
        return self.head.split("\n", 1)[1].rstrip("\r\n \t").removesuffix("---")


@dataclass(frozen=True)
class Frontmatter:
    """Parsed frontmatter."""

    values: Mapping[str, object]
    lines: Mapping[str, int]
    """Key to its line in SKILL.md, from 1."""
    block_scalars: tuple[str, ...]
    """Keys whose value is a `|` or `>` block, which some clients cannot read."""


def split(text: str) -> Parts:
    """Cut SKILL.md after its frontmatter; raises `SkillError` where there is none or it is not closed."""
    if text.startswith("\ufeff"):
        raise SkillError("starts with a byte order mark", remedy="save it as UTF-8 without BOM", line=1)
    opening = _FENCE.match(text)
    if opening is None:
        raise SkillError(
            "has no frontmatter", remedy="start with a line `---`, then name and description, then `---`", line=1
        )
    position = opening.end()
    while position < len(text):
        closing = _FENCE.match(text, position)
        if closing is not None:
            return Parts(text[: closing.end()], text[closing.end() :])
        newline = text.find("\n", position)
        if newline < 0:
            break
        position = newline + 1
    raise SkillError("frontmatter is not closed", remedy="end it with a line `---`", line=1)


@functools.lru_cache(maxsize=16)
def parse(source: str) -> Frontmatter:
    """Read the YAML between the fences (its first line is line 2 of the file); raises `SkillError`.

    A training looks at the same few hundreds of times. What it returns is shared: nobody changes it.
    """
    if len(source) > MAX_CHARS:
        raise SkillError(f"frontmatter is longer than {MAX_CHARS} characters", remedy="move text to the body", line=1)
    try:
        _refuse_tricks(source)
        node = yaml.compose(source, Loader=yaml.SafeLoader)
        if not isinstance(node, yaml.MappingNode):
            raise SkillError("frontmatter is not a mapping", remedy="write `key: value` lines", line=2)
        lines, blocks = _keys(node)
        values = yaml.safe_load(source)
    except yaml.MarkedYAMLError as error:
        line = None if error.problem_mark is None else error.problem_mark.line + 2
        raise SkillError(
            f"frontmatter is not valid YAML: {error.problem}",
            remedy='put text with colons or signs in "double quotes"',
            line=line,
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        what = str(error).splitlines()[0]
        raise SkillError(f"frontmatter is not valid YAML: {what}", remedy="write plain text", line=2) from error
    return Frontmatter(values, lines, blocks)


def _refuse_tricks(source: str) -> None:
    """Look at the parser's events, which need no recursion, before any node is built."""
    depth = 0
    for event in yaml.parse(source, Loader=yaml.SafeLoader):
        line = 2 if event.start_mark is None else event.start_mark.line + 2
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise SkillError("frontmatter is nested too deep", remedy="keep it flat", line=line)
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise SkillError("frontmatter uses a YAML anchor or alias", remedy="write the value out", line=line)
        if isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent) and event.tag not in (None, "!"):
            raise SkillError("frontmatter uses a YAML tag", remedy="write the plain value", line=line)


def _keys(node: yaml.MappingNode) -> tuple[dict[str, int], tuple[str, ...]]:
    lines: dict[str, int] = {}
    blocks: list[str] = []
    for key, value in node.value:
        line = key.start_mark.line + 2
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            raise SkillError("frontmatter has a key that is not text", remedy="write `key: value` lines", line=line)
        if key.value in lines:
            raise SkillError(f"frontmatter has the key `{key.value}` twice", remedy="keep one of them", line=line)
        lines[key.value] = line
        if isinstance(value, yaml.MappingNode):
            _keys(value)
        if isinstance(value, yaml.ScalarNode) and value.style in ("|", ">"):
            blocks.append(key.value)
    return lines, tuple(blocks)
