"""Render prompts. Everything that comes from skills, tasks, traces or models passes `data` or `json_data`.

Invariant: no text inside a section can open or close one of our markers.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound

MARKERS = ("current_skill", "edit_budget", "earlier_steps", "attempt", "patches", "edits")
_MARKER = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(MARKERS)})\b)", re.IGNORECASE)


def data(text: str) -> str:
    """Text as it stands, but for our own markers: their `<` becomes `&lt;`."""
    return _MARKER.sub("&lt;", text)


def json_data(value: Any) -> str:
    """Compact JSON; a `<` before a marker's name is written as an escape, so parsing gives the same value back."""
    return _MARKER.sub(r"\\u003c", json.dumps(value, ensure_ascii=False, sort_keys=False))


def shorten(text: str, limit: int) -> str:
    """At most about `limit` characters: both ends are kept and what is missing is said."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - head - tail} characters left out …]\n{text[-tail:]}"


class _Packaged(BaseLoader):
    """Templates from the installed package, also from a zip."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str | None, None]:
        source = files(__package__) / template
        if not source.is_file():
            raise TemplateNotFound(template)
        return source.read_text(encoding="utf-8"), None, None


@functools.cache
def _environment() -> Environment:
    # Prompts are plain text: HTML escaping would change what the model has to copy.
    environment = Environment(loader=_Packaged(), undefined=StrictUndefined, autoescape=False)  # noqa: S701
    environment.filters |= {"data": data, "json_data": json_data}
    return environment


def render(template: str, **values: Any) -> str:
    """One prompt; raises `jinja2.UndefinedError` if a value is missing."""
    return _environment().get_template(template).render(**values).strip()


@functools.cache
def digest() -> str:
    """`sha256:` over every template: part of a run's fingerprint."""
    h = hashlib.sha256()
    for source in sorted(files(__package__).iterdir(), key=lambda entry: entry.name):
        if source.name.endswith(".j2"):
            h.update(f"{source.name}\0".encode() + source.read_bytes() + b"\0")
    return "sha256:" + h.hexdigest()
