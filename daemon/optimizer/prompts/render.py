"""Render prompts. Everything that comes from skills, tasks, traces or models passes `data` or `json_data`.

Invariant: no text inside a section can open or close one of our markers.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound


def _sources() -> dict[str, str]:
    """Every template by name, in order."""
    entries = sorted(files(__package__).iterdir(), key=lambda entry: entry.name)
    return {entry.name: entry.read_text(encoding="utf-8") for entry in entries if entry.name.endswith(".j2")}


def _markers() -> tuple[str, ...]:
    """The sections that the templates open: a new template's are among them without a word here."""
    return tuple(sorted({name for text in _sources().values() for name in re.findall(r"</([a-z][a-z_]*)>", text)}))


MARKERS = _markers()
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


@dataclass(frozen=True)
class Prompt:
    """A prompt whose beginning other prompts share."""

    text: str
    stable: int = 0
    """Characters of that beginning, for the provider's prompt cache."""


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


def render_prompt(template: str, **values: Any) -> Prompt:
    """One prompt, and where its `stable` block ends: what stands there is the same for all of a step's prompts.

    The block must open the template; a template without one shares nothing.
    """
    source = _environment().get_template(template)
    text = render(template, **values)
    shared = source.blocks.get("stable")
    if shared is None:
        return Prompt(text)
    beginning = "".join(shared(source.new_context(values))).lstrip()
    if not text.startswith(beginning):
        msg = f"{template}: its stable block must stand at the beginning"
        raise ValueError(msg)
    return Prompt(text, len(beginning))


@functools.cache
def digest() -> str:
    """`sha256:` over every template: part of a run's fingerprint."""
    h = hashlib.sha256()
    for name, text in _sources().items():
        h.update(f"{name}\0{text}\0".encode())
    return "sha256:" + h.hexdigest()
