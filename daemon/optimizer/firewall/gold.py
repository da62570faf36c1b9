"""What of a task only its verifier knows: answers, scorer options, gold files and the checks of test scripts.

Short texts are gold of their own (`phrases`), long ones by their runs of words, source by its runs of code.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from daemon.optimizer.firewall.words import digits, is_number, split
from daemon.tasks.feedback import gold_texts
from daemon.tasks.task import Task

PUBLIC_OPTIONS = frozenset(
    {"output", "gold", "range", "unit", "answer_tag", "fallback", "docker_image", "feedback_file"}
)
"""Options that say where an answer is looked for, which prompts and feedback say too."""
SECRET_CHARS = 6
"""A scorer option with fewer characters is not looked for."""
_CODE_FILES = (".sh", ".py", ".js", ".ts", ".rb", ".pl", ".rs", ".go", ".java", ".c", ".cpp", ".sql", ".bats", ".toml")
_STRING = r"""(?:[rbfuRBFU]{0,2}"([^"\n]{1,200})"|[rbfuRBFU]{0,2}'([^'\n]{1,200})')"""
_EXPECTED = re.compile(
    rf"(?:==|!=|=~|-eq|-ne|\bin|\b(?:re\.)?(?:full)?(?:match|search)\(|\bgrep\s[-\w\s]{{0,20}}|\bexpect\w*\s*[=(,])\s*{_STRING}"
    rf"|{_STRING}\s*(?:==|!=|\bin\b)|(?:==|!=|-eq|-ne)\s*(-?\d[\d_.]*)|(-?\d[\d_.]*)\s*(?:==|!=)"
    rf"|\bassert\w*(?:Equal|equal|In|is)\w*\([^,\n]{{1,80}},\s*(?:{_STRING}|(-?\d[\d_.]*))"
)
_ARTICLES = ("a", "an", "the")


@dataclass(frozen=True)
class Gold:
    """A task's secrets, as texts."""

    answers: tuple[str, ...] = ()
    """From `answer`: whatever accepts an answer."""
    secrets: tuple[str, ...] = ()
    """Texts of scorer options."""
    files: tuple[str, ...] = ()
    """What gold files and the comparisons of test scripts hold."""
    source: tuple[str, ...] = ()
    """Verifier source, whole."""


def gold_of(task: Task, tests: Mapping[str, tuple[str, ...]]) -> Gold:
    """Gather a task's gold; `tests` are the texts of its tests files."""
    specs = (task.scorer, *(step.scorer for step in task.steps))
    options = [value for spec in specs for key, value in spec.options.items() if key not in PUBLIC_OPTIONS]
    source = [text for path, texts in tests.items() if path.endswith(_CODE_FILES) for text in texts]
    files = [value for path, texts in tests.items() if not path.endswith(_CODE_FILES) for value in _values(path, texts)]
    return Gold(
        answers=tuple(text for text in gold_texts(task.answer) if text.strip()),
        secrets=tuple(text for text in gold_texts(options) if len(text) >= SECRET_CHARS and not _plain_number(text)),
        files=(*files, *(value for text in source for value in expected_values(text))),
        source=tuple(source),
    )


def expected_values(source: str) -> Iterator[str]:
    """What a test script compares with."""
    for found in _EXPECTED.finditer(source):
        yield from (group for group in found.groups() if group)


def _values(path: str, texts: tuple[str, ...]) -> Iterator[str]:
    """The single values of a gold file."""
    for text in texts:
        if path.endswith((".json", ".jsonl")):
            yield from _json_values(text)
        for line in text.splitlines():
            yield line
            yield from (piece for piece in re.split(r"[\t,;|]", line) if piece.strip())


def _json_values(text: str) -> Iterator[str]:
    try:
        yield from gold_texts(json.loads(text))
    except (ValueError, RecursionError):
        return  # cut off or no JSON: its lines are looked at all the same


def _plain_number(text: str) -> bool:
    return text.replace(".", "", 1).lstrip("-").isdigit()


def shapes(text: str) -> Iterator[tuple[str, ...]]:
    """The words of a short gold text in the forms it may take: without its article, a number less exact."""
    words = split(text[:400]).words
    if not words:
        return
    yield words
    if words[0] in _ARTICLES and len(words) > 1:
        yield words[1:]
    if len(words) == 1 and is_number(words[0]) and "." in words[0]:
        for places in range(len(words[0].partition(".")[2])):
            less = split(f"{float(words[0]):.{places}f}").words
            if digits(less[0]) >= 4:  # fewer say too little to be gold
                yield less


def as_options(value: Any) -> str:
    """Option texts are compared with spaces squeezed and without case."""
    return " ".join(str(value).casefold().split())
