"""A small reader of rules: which working habits a skill's text asks for.

It reads clause by clause and minds negation ("write values, never formulas" is the opposite of "write formulas, never
values"); what a clause says only on a condition ("if the task asks for a formula, …") is no order by itself. A later
sentence overrides an earlier one. Text that speaks of nothing here changes nothing: a useless rule is useless.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Habits:
    """How the simulated target works. The defaults are what it does untaught."""

    content: Literal["as_asked", "values", "formulas"] = "as_asked"
    whole_range: bool = False
    """False: it stops at the first empty row."""
    normalise_keys: bool = False
    sheet: Literal["active", "named", "first"] = "active"
    day_first: bool = False
    """Text tasks: 03/04/2025 is 3 April."""
    bare_answers: bool = False
    """Text tasks: the value alone, also where a question is asked."""
    tidy_codes: bool = False
    """Text tasks: codes in one shape."""
    dates_as_given: bool = False
    """Text tasks: dates are copied, not rewritten."""


_NEGATION = re.compile(r"\b(?:never|not|no|don t|dont|avoid|without|instead of|rather than|nor|neither|stop)\b")
_CONDITION = re.compile(r"^(?:also |even )?(?:if|when|whenever|where|whatever|whichever|although|though|unless)\b")
_CLAUSES = re.compile(r"[,;:()]| but | and (?=never|not|do not|don)|(?= instead of | rather than )")
_WRITE = re.compile(r"\b(?:write|writes|store|put|enter|fill|leave|save|keep|use|give|compute|calculate|paste)\b")


def read_habits(skill_text: str) -> Habits:
    """The habits that a skill's text asks for; frontmatter and code blocks are not read."""
    habits = Habits()
    for sentence in _sentences(skill_text):
        habits = _learn(habits, sentence)
    return habits


def _sentences(text: str) -> Iterator[str]:
    """Sentences, lower case, without markup."""
    text = re.sub(r"^---\nname:.*?\n---\n", "", text.replace("\r\n", "\n"), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"```.*?(?:```|\Z)", "", text, flags=re.DOTALL)
    text = re.sub(r"\n(?!\s*(?:[-*#]|\d+\.|\n))", " ", text)  # a wrapped line belongs to its bullet
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        for sentence in re.split(r"(?<=[.!?])\s+", line):
            plain = re.sub(r"['’]", " ", re.sub(r"[*_`\"“”]", "", sentence)).lower()  # noqa: RUF001
            yield " ".join(plain.strip(" -\t.!?").split())


def _learn(habits: Habits, sentence: str) -> Habits:
    ordered = [clause.strip() for clause in _CLAUSES.split(sentence) if clause and clause.strip()]
    writes = bool(_WRITE.search(sentence))
    for clause in reversed(ordered):  # within a sentence the first clause is the order, the rest explains it
        if _CONDITION.match(clause):
            continue
        negated = bool(_NEGATION.search(clause))
        if writes:
            habits = _learn_content(habits, clause, negated=negated)
        habits = _learn_range_and_keys(habits, clause, sentence, negated=negated)
        if re.search(r"\b(?:sheet|worksheet|tab)\b", clause) and not negated:
            habits = _learn_sheet(habits, clause)
        habits = _learn_text_work(habits, clause, negated=negated)
    return habits


def _learn_content(habits: Habits, clause: str, *, negated: bool) -> Habits:
    if re.search(r"\bvalues?\b.*\bformulas?\b", clause):
        return replace(habits, content="formulas" if negated else "values")
    if re.search(r"\bformulas?\b", clause):
        return replace(habits, content="values" if negated else "formulas")
    if not negated and re.search(r"\b(?:computed|evaluated|static|calculated|finished) values?\b", clause):
        return replace(habits, content="values")
    return habits


def _learn_range_and_keys(habits: Habits, clause: str, sentence: str, *, negated: bool) -> Habits:
    if re.search(r"\b(?:empty|blank) (?:row|cell|line|key)s?\b", clause) and re.search(r"\b(?:stop|end)\b", clause):
        told_not_to = re.search(r"\b(?:not|never|don t) (?:stop|end)\b", clause)
        habits = replace(habits, whole_range=told_not_to is not None)
    elif re.search(r"\b(?:whole|entire|full|complete|all|every|each)\b.*\brange\b", clause):
        habits = replace(habits, whole_range=not negated)
    about_keys = re.search(r"\b(?:keys?|codes?)\b", sentence)
    if about_keys and re.search(r"\b(?:normali[sz]e|trim|strip|fold)\b", clause):
        habits = replace(habits, normalise_keys=not negated)
    return habits


def _learn_sheet(habits: Habits, clause: str) -> Habits:
    if re.search(r"\b(?:first|leftmost)\b", clause):
        return replace(habits, sheet="first")
    if re.search(r"\b(?:named|names|asks for|asked for|target range)\b", clause):
        return replace(habits, sheet="named")
    if re.search(r"\bactive\b", clause):
        return replace(habits, sheet="active")
    return habits


def _learn_text_work(habits: Habits, clause: str, *, negated: bool) -> Habits:
    if re.search(r"\bdates?\b", clause):
        if re.search(r"\bday (?:first|before month|comes first)\b", clause):
            habits = replace(habits, day_first=not negated)
        if re.search(r"\bas (?:given|written|found)\b", clause):
            habits = replace(habits, dates_as_given=not negated)
    if re.search(r"\bcodes?\b", clause) and re.search(r"\b(?:upper case|capitals?)\b", clause):
        habits = replace(habits, tidy_codes=not negated)
    if re.search(r"\b(?:value|answer) alone\b", clause) or re.search(r"\bfull sentences?\b", clause):
        alone = re.search(r"\balone\b", clause) is not None
        habits = replace(habits, bare_answers=alone != negated)
    return habits
