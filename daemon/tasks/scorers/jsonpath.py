"""JSON paths, the plain part of RFC 9535: `$`, `.name`, `['name']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `.*` and `..name`.

No filters and no expressions: a path is data, and finding its values takes bounded work.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MAX_FOUND = 100_000
_STEP = re.compile(
    r"""(?P<deep>\.\.)?(?:
        (?(deep)|\.)(?P<name>[^\W\d][\w-]*|\*)
      | \[\s*(?:'(?P<single>(?:[^'\\]|\\.)*)'|"(?P<double>(?:[^"\\]|\\.)*)"
          | (?P<star>\*) | (?P<start>-?\d{1,9})?\s*(?P<colon>:)\s*(?P<stop>-?\d{1,9})? | (?P<index>-?\d{1,9}))\s*\]
    )""",
    re.VERBOSE,
)
Selector = str | int | slice | None
"""A member's name, an element's index, elements, or (None) all children."""


@dataclass(frozen=True)
class Step:
    """One step of a path."""

    selector: Selector
    deep: bool
    """Applied to all that lies below, not to the children alone."""


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path; raises `ValueError` naming the text that is none."""
    if not path.startswith("$"):
        msg = f"{path[:60]!r} is no JSON path: it begins with $, as in $.total or $.rows[0].name"
        raise ValueError(msg)
    at, steps = 1, []
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            msg = f"{path[at : at + 40]!r} is no step of a JSON path: use .name, ['name'], [0], [1:3], [*] or ..name"
            raise ValueError(msg)
        steps.append(Step(_selector(match), bool(match["deep"])))
        at = match.end()
    return tuple(steps)


def _selector(match: re.Match[str]) -> Selector:
    if match["star"] or match["name"] == "*":
        return None
    if match["index"]:
        return int(match["index"])
    if match["colon"]:
        return slice(*(int(match[end]) if match[end] else None for end in ("start", "stop")))
    if match["name"]:
        return match["name"]
    quoted = match["single"] if match["single"] is not None else match["double"]
    return re.sub(r"\\(.)", r"\1", quoted)


def find(steps: Sequence[Step], root: Any) -> list[Any]:
    """Every value that a path leads to, in document order; raises `ValueError` beyond `MAX_FOUND`."""
    found = [root]
    for step in steps:
        found = [value for node in found for value in _apply(step, node)]
        if len(found) > MAX_FOUND:
            msg = f"the path leads to more than {MAX_FOUND} values"
            raise ValueError(msg)
    return found


def _apply(step: Step, node: Any) -> Iterator[Any]:
    for start in _below(node) if step.deep else (node,):
        yield from _children(step.selector, start)


def _below(root: Any) -> Iterator[Any]:
    """The node and all below it, without recursion: documents may be deep."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, dict):
            waiting.extend(reversed(node.values()))
        elif isinstance(node, list):
            waiting.extend(reversed(node))


def _children(selector: Selector, node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        if selector is None:
            yield from node.values()
        elif isinstance(selector, str) and selector in node:
            yield node[selector]
    elif isinstance(node, list):
        if selector is None:
            yield from node
        elif isinstance(selector, slice):
            yield from node[selector]
        elif isinstance(selector, int) and -len(node) <= selector < len(node):
            yield node[selector]
