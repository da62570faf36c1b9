"""Render prompts. Everything that comes from skills, tasks, traces or models passes `data` or `json_data`.

Invariants: no text inside a section can open or close one of our markers, or what looks like one, or speak in the role
markers of chat templates; it holds no character that a person reading the prompt could not see.
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

from skills_repo.hidden import drop_hidden, is_hidden


def _sources() -> dict[str, str]:
    """Every template by name, in order."""
    entries = sorted(files(__package__).iterdir(), key=lambda entry: entry.name)
    return {entry.name: entry.read_text(encoding="utf-8") for entry in entries if entry.name.endswith(".j2")}


def _markers() -> tuple[str, ...]:
    """The sections that the templates open: a new template's are among them without a word here."""
    return tuple(sorted({name for text in _sources().values() for name in re.findall(r"</([a-z][a-z_]*)>", text)}))


MARKERS = _markers()
_NAMES = "|".join(name.replace("_", r"[\s_-]{0,3}") for name in MARKERS)
_ROLES = r"\|\w{1,40}\|>|\uff5c|<?/?SYS>|/?s>|/?(?:start|end)_of_turn>|/?(?:bos|eos|pad|unk)>|/?think(?:ing)?>"
"""What chat templates mark turns with, without its `<`: servers of open models may read it inside a text, too."""
_STRANGE = r"(?-i:/?[^\s<>/\x80-\U0010ffff]{0,40}[\x80-\U0010ffff][^\s<>]{0,40}>)"
"""A tag whose name has look-alike letters."""
_MARKER = re.compile(
    rf"[<\uff1c\ufe64\u2039\u3008\u27e8\u276e\u227a\u300a](?=\s*/{{0,3}}\s*(?:{_NAMES})\b|{_ROLES}|{_STRANGE})",
    re.IGNORECASE,
)
_INST = re.compile(r"\[(?=/?(?:INST|AVAILABLE_TOOLS|TOOL_RESULTS|SYSTEM_PROMPT)\])")


_NOT_PLAIN = re.compile(r"[^\r\n\t\x20-\x7e]|\r(?!\n)")


def data(text: str) -> str:
    """Text as it stands, but for hidden characters, which are dropped, and for markers: their `<` becomes `&lt;`."""
    return _INST.sub("&#91;", _MARKER.sub("&lt;", _shown(text) if _NOT_PLAIN.search(text) else text))


def json_data(value: Any) -> str:
    """Compact JSON; a marker's `<` and hidden characters are written as escapes: parsing gives the same value back."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=False)
    if _NOT_PLAIN.search(text):
        plain = "".join(_escaped(char) if is_hidden(char) else char for char in text)
        # A marker may be broken by what is hidden: then none of them may begin.
        text = plain if plain == text else plain.replace("<", "\\u003c")
    text = _MARKER.sub(lambda found: _escaped(found[0]), text)
    return _INST.sub(lambda found: _escaped(found[0]), text)


def _shown(text: str) -> str:
    return "\r\n".join(drop_hidden(line) for line in text.split("\r\n"))


def _escaped(char: str) -> str:
    """As JSON escapes it."""
    return char.encode("utf-16-be", "surrogatepass").hex(" ", 2).replace(" ", "\\u").join(("\\u", ""))


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
