"""The simulated target without tools: it answers small text tasks, the way the skill's rules make it answer."""

from __future__ import annotations

import re

from daemon.demo.bench_target import answer_benchmark
from daemon.demo.chat_wordings import MONTHS, read_question
from daemon.demo.conversation import Conversation
from daemon.demo.rules import Habits, read_habits

_WORDS = re.compile(r"(\d{1,2}) ([A-Z][a-z]+) (\d{4})")
_FIGURES = re.compile(r"(\d{2})/(\d{2})/(\d{4})")
_CODE = re.compile(r"^\W*([A-Za-z]{2})\W*(\d{2})\W*$")


def answer_question(conversation: Conversation) -> str:
    """The answer to the last question asked; the skill is what the system prompt says."""
    question = read_question(conversation.texts[-1]) if conversation.texts else None
    if question is None:
        said = answer_benchmark("\n".join(conversation.texts), conversation.images, conversation.system)
        return said or "I do not understand what the task asks for."
    habits = read_habits(conversation.system)
    value = _code(question.given, habits) if question.is_code else _date(question.given, habits)
    if question.asked and not habits.bare_answers:
        return f"The {'code' if question.is_code else 'date'} is {value}."
    return value


def _code(given: str, habits: Habits) -> str:
    found = _CODE.match(given)
    return f"{found[1].upper()}-{found[2]}" if found and habits.tidy_codes else given.strip()


def _date(given: str, habits: Habits) -> str:
    if habits.dates_as_given:
        return given
    words, figures = _WORDS.search(given), _FIGURES.search(given)
    if words and words[2] in MONTHS:
        return f"{words[3]}-{MONTHS.index(words[2]) + 1:02}-{int(words[1]):02}"
    if figures:
        day, month = (figures[1], figures[2]) if habits.day_first else (figures[2], figures[1])
        return f"{figures[3]}-{month}-{day}"
    return given
