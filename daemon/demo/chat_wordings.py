"""The small text tasks of the chat fallback: how they are worded, and what a wording asks for."""

from __future__ import annotations

import re
from dataclasses import dataclass

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


@dataclass(frozen=True)
class Question:
    """One text task, understood."""

    given: str
    """The date or code as it stands in the prompt."""
    is_code: bool = False
    asked: bool = False
    """Worded as a question."""

    @property
    def in_figures(self) -> bool:
        """A date like 03/04/2025."""
        return "/" in self.given and not self.is_code


def render_question(question: Question) -> str:
    """The prompt for a text task."""
    if question.is_code and question.asked:
        return f'What is the code "{question.given}" in the form AB-12?'
    if question.is_code:
        return f'Write the code "{question.given}" in the form AB-12.'
    if question.asked:
        return f'What is the date "{question.given}" in the form YYYY-MM-DD?'
    return f'Write the date "{question.given}" in the form YYYY-MM-DD.'


_PROMPT = re.compile(r'(What is|Write) the (date|code) "([^"]+)" in the form (?:AB-12|YYYY-MM-DD)')


def read_question(prompt: str) -> Question | None:
    """What a prompt asks for, or None if it is no text task."""
    found = _PROMPT.search(prompt)
    if found is None:
        return None
    return Question(given=found[3], is_code=found[2] == "code", asked=found[1] == "What is")
