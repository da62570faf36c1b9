"""Pydantic's findings about honed.toml as one plain line: file, line, key, what was expected, what to do.

Invariant: a value is repeated only where it cannot be a secret.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from daemon.toml_lines import find_line

Finding = tuple[tuple[str | int, ...], str]
"""Path of a key, and what is wrong with it."""
_PRIVATE = ("api_key_env", "api_key_file", "api_key_command", "base_url")
_NAMES = {"int": "a whole number", "float": "a number", "string": "text", "bool": "true or false"}


def to_line(file: Path, text: str, findings: Sequence[Finding]) -> str:
    """The finding that stands first in the file, and how many more there are."""
    placed = [(find_line(text, path), path, what) for path, what in findings]
    line, path, what = min(placed, key=lambda found: (found[0] is None, found[0] or 0))
    place = str(file) if line is None else f"{file}:{line}"
    more = f" (and {len(placed) - 1} more)" if len(placed) > 1 else ""
    return f"{place}: {_name(path)} {what}{more}"


def findings(error: ValidationError, model: type[BaseModel]) -> list[Finding]:
    """What pydantic found, in its order."""
    return [(tuple(row["loc"]), _say(row, model)) for row in error.errors(include_url=False, include_context=True)]


def _name(path: Sequence[str | int]) -> str:
    """`[train] batch`, or `[train]`, or `[tasks] split[1]`."""
    keys = [part for part in path if isinstance(part, str)]
    index = "".join(f"[{part}]" for part in path if isinstance(part, int))
    if len(keys) < 2:
        return f"[{keys[0] if keys else ''}]"
    return f"[{'.'.join(keys[:-1])}] {keys[-1]}{index}"


def _say(row: ErrorDetails, model: type[BaseModel]) -> str:
    path = tuple(row["loc"])
    kind = row["type"]
    if kind == "extra_forbidden":
        return _unknown(path, model)
    if kind == "missing":
        if isinstance(path[-1], int):
            return "is missing: the list is too short"
        is_table = _model_at(path, model) is not None
        return "is missing: add the section" if is_table else "is missing: add it"
    shown = "" if any(part in _PRIVATE for part in path) else f", not {_show(row['input'])}"
    if kind in ("value_error", "assertion_error"):
        return str(row["msg"]).removeprefix("Value error, ")
    if kind == "model_type":
        return "must be a section"
    expected = _expected(kind, row.get("ctx") or {}) or str(row["msg"])[:1].lower() + str(row["msg"])[1:]
    return expected + shown


def _expected(kind: str, context: Mapping[str, Any]) -> str:
    """What pydantic wanted, in plain words; empty for kinds that honed.toml cannot bring about."""
    sayings: dict[str, Callable[[], str]] = {
        "literal_error": lambda: f"must be one of {context['expected']}",
        "greater_than_equal": lambda: f"must be at least {context['ge']:g}",
        "less_than_equal": lambda: f"must be at most {context['le']:g}",
        "greater_than": lambda: f"must be more than {context['gt']:g}",
        "finite_number": lambda: "must be a finite number",
        "int_from_float": lambda: "must be a whole number",
        "tuple_type": lambda: "must be a list",
        "too_long": lambda: f"must have {context['max_length']} values",
    }
    if kind in sayings:
        return sayings[kind]()
    name = _NAMES.get(kind.removesuffix("_type").removesuffix("_parsing"))
    return f"must be {name}" if name else ""


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unknown(path: tuple[str | int, ...], model: type[BaseModel]) -> str:
    parent = _model_at(path[:-1], model)
    known = sorted(parent.model_fields) if parent is not None else []
    near = difflib.get_close_matches(str(path[-1]), known, n=1)
    what = "is no section" if len(path) == 1 else "is no known key"
    if near:
        return f"{what}: did you mean `{near[0]}`?"
    return f"{what}: remove it (known: {', '.join(known)})"


def _model_at(path: Sequence[str | int], model: type[BaseModel]) -> type[BaseModel] | None:
    """The section's model at a path of keys."""
    at: type[BaseModel] | None = model
    for part in path:
        if at is None or part not in at.model_fields:
            return None
        annotation: Any = at.model_fields[str(part)].annotation
        options = [annotation, *get_args(annotation)]
        at = next((one for one in options if isinstance(one, type) and issubclass(one, BaseModel)), None)
    return at
