"""What went wrong in an attempt, as far as its prompt, feedback and trace show it."""

from __future__ import annotations

import re

from daemon.demo.chat_wordings import read_question
from daemon.demo.ideas import CODES, DATES, FORMULA, GAP, KEYS, SENTENCE, SHEET, Failure
from daemon.demo.wordings import read_request

_WROTE = re.compile(r"wrote \d+ (values|formulas) to ([A-Z]\w*)!")
_STOPPED = re.compile(r"stopped at the empty row \d+")
_UNMATCHED = re.compile(r"no match for \d+ keys")
_TIDY_CODE = re.compile(r"\b[A-Z]{2}-\d{2}\b")
_FINAL = re.compile(r"^final answer:\s*(.*)$", re.IGNORECASE | re.MULTILINE)


def failures_of(attempt: str) -> tuple[Failure, ...]:
    """The failure types seen in an attempt's text: its task, feedback, what was done, and the final answer."""
    return _text_failures(attempt) if is_text_task(attempt) else _sheet_failures(attempt)


def is_text_task(attempt: str) -> bool:
    """The attempt is about one of the small text tasks."""
    return read_request(attempt) is None and read_question(attempt) is not None


def _sheet_failures(attempt: str) -> tuple[Failure, ...]:
    found: list[Failure] = []
    wrote = _WROTE.search(attempt)
    request = read_request(attempt)
    if (wrote and wrote[1] == "formulas") or "formula without a stored value" in attempt:
        found.append(FORMULA)
    if wrote and request and wrote[2] != request.sheet:
        return (*found, SHEET)  # on the wrong sheet, empty rows and missing keys say nothing
    if _STOPPED.search(attempt):
        found.append(GAP)
    if _UNMATCHED.search(attempt):
        found.append(KEYS)
    return tuple(found)


def _text_failures(attempt: str) -> tuple[Failure, ...]:
    question = read_question(attempt)
    finals = _FINAL.findall(attempt)
    said = finals[-1].strip() if finals else ""
    found: list[Failure] = []
    if question and question.asked and said.endswith("."):
        found.append(SENTENCE)
    if question and question.in_figures:
        found.append(DATES)
    if question and question.is_code and not _TIDY_CODE.search(said):
        found.append(CODES)
    return tuple(found)
