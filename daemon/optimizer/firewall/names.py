"""What a prompt names: files, people and things, identifiers, quoted texts, long numbers.

These are candidates. Whether a name belongs to one task, or to the family and to everybody, `Firewall` decides by how
many prompts have it; here only what is general knowledge in itself is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from daemon.optimizer.firewall.vocabulary import FILE_STEMS, STOP_WORDS, is_common
from daemon.optimizer.firewall.words import digits, is_number, split
from daemon.tasks.task import Task

_FILE = re.compile(
    r"(?<![\w.-])\w[\w.-]{0,80}\.(?:xlsx?|xlsm|csv|tsv|json|jsonl|txt|md|pdf|docx?|pptx?|png|jpe?g|gif|svg|html?|xml|ya?ml|toml"
    r"|ini|log|sql|db|sqlite|parquet|zip|tar|gz|py|sh|js|ts|rb|rs|go|java|c|cpp|h|tex|ipynb|dat|bin|wav|mp3|mp4)\b"
)
_CAPITAL = r"[^\W\d_a-z][\w'\u2019.-]{0,40}"
_CAPITALS = re.compile(rf"{_CAPITAL}(?:[ ](?:(?:of|the|and|de|van|von|la|le|du) ){{0,2}}{_CAPITAL}){{0,5}}")
_QUOTED = re.compile(r"[\"“”]([^\"“”\n]{3,80})[\"“”]|(?<!\w)['‘]([^'‘’\n]{3,80})['’](?!\w)|`([^`\n]{3,80})`")  # noqa: RUF001
_IDENTIFIER = re.compile(
    r"\b(?=\w{0,60}_|[\w-]{0,60}\d)[A-Za-z][\w-]{3,60}\b|\b[a-z]+[A-Z]\w{2,40}\b|\b[A-Z][a-z]+[A-Z]\w{2,40}\b"
)
_CELLS = re.compile(r"\$?[A-Z]{1,3}\$?\d+(?::\$?[A-Z]{1,3}\$?\d+)?")
_LONG = re.compile(r"\d[\d.,]{2,40}")


@dataclass(frozen=True)
class Name:
    """Something a task names."""

    kind: str
    """`file`, `name`, `quoted text`, `identifier`, `number`."""
    words: tuple[str, ...]
    text: str


def names_of(task: Task) -> Iterator[Name]:
    """The names of one task."""
    prompt = task.prompt
    for path in (*task.shown, *(found[0] for found in _FILE.finditer(prompt))):
        yield from _made("file", PurePosixPath(path).name, _is_own_file)
    yield from _made("identifier", task.id, lambda words: len("".join(words)) > 5 and _has_letters_and_digits(words))
    for pattern, kind, own in (
        (_IDENTIFIER, "identifier", _is_own_identifier),
        (_CAPITALS, "name", _is_own_name),
        (_QUOTED, "quoted text", _is_own_quote),
        (_LONG, "number", _is_own_number),
    ):
        for found in pattern.finditer(prompt):
            text = next((group for group in found.groups() if group), found[0])
            if kind == "identifier" and _CELLS.fullmatch(text):
                continue
            yield from _made(kind, text, own)


def _made(kind: str, text: str, own: Callable[[tuple[str, ...]], bool]) -> Iterator[Name]:
    words = _words(text)
    while kind == "name" and words and words[0] in STOP_WORDS:
        words = words[1:]
    if words and own(words):
        yield Name(kind, words, text)


@lru_cache(maxsize=100_000)
def _words(text: str) -> tuple[str, ...]:
    return split(text).words


def _is_own_file(words: tuple[str, ...]) -> bool:
    """The last word is the extension."""
    return not all(word in FILE_STEMS for word in words[:-1])


def _is_own_name(words: tuple[str, ...]) -> bool:
    return any(not is_common(word) and not is_number(word) for word in words)


def _is_own_quote(words: tuple[str, ...]) -> bool:
    content = [word for word in words if word not in STOP_WORDS]
    return _is_own_name(words) or len(content) > 3


def _is_own_identifier(words: tuple[str, ...]) -> bool:
    if len(words) == 1 and len(words[0]) < 5:  # B12, 3rd, Q4
        return False
    return any(not is_common(word) and not (word.isdigit() and len(word) < 4) for word in words)


def _has_letters_and_digits(words: tuple[str, ...]) -> bool:
    joined = "".join(words)
    return any(map(str.isalpha, joined)) and any(map(str.isdigit, joined))


def _is_own_number(words: tuple[str, ...]) -> bool:
    return len(words) == 1 and is_own_number(words[0])


def is_own_number(word: str) -> bool:
    """A number that is nobody's by chance: neither round nor a year, nor of fewer than four significant digits."""
    return is_number(word) and digits(word) >= 4 and not (len(word) == 4 and word[:2] in ("19", "20"))


def distinctive(words: tuple[str, ...]) -> bool:
    """Whether a gold text would not be in a rule by chance."""
    if len(words) == 1 and is_number(words[0]):
        return is_own_number(words[0])
    content = [word for word in words if word not in STOP_WORDS]
    if len(words) < 4:  # "the first sheet" and "not enough information" say nothing
        return any(not is_common(word) and not (word.isdigit() and len(word) < 4) for word in content)
    return len(content) > 1
