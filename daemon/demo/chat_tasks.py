"""The small text task set for the chat harness: where no CLI can be had, `honed demo` still has something to hone.

Traps, as in the spreadsheet set: `question` (the task is worded as a question and draws a sentence), `figures` (a date
whose day comes first), `messy` (a code in another shape), `abbreviation` (a month's short name, which no rule mends).
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon.demo.chat_wordings import MONTHS, Question, render_question
from daemon.demo.demo_set import DemoSet, Knobs
from daemon.demo.tasks import write_skill

SKILL = "text"
_DATE, _CODE = False, True

CHAT_PLANS: dict[str, tuple[tuple[bool, tuple[str, ...]], ...]] = {
    "train": (
        (_DATE, ()),
        (_CODE, ()),
        (_DATE, ("question",)),
        (_DATE, ("question",)),
        (_CODE, ("question",)),
        (_DATE, ("question", "figures")),
        (_CODE, ("question", "messy")),
        (_CODE, ("question", "messy")),
        (_CODE, ("messy",)),
        (_CODE, ("messy",)),
        (_CODE, ("messy",)),
        *((_DATE, ("figures",)),) * 3,
        *((_DATE, ("abbreviation",)),) * 2,
    ),
    "selection": (
        (_DATE, ()),
        (_DATE, ()),
        (_CODE, ()),
        (_DATE, ("question",)),
        (_CODE, ("question",)),
        (_DATE, ("figures",)),
        (_DATE, ("figures",)),
        (_DATE, ("figures", "question")),
        (_CODE, ("messy",)),
        (_CODE, ("messy",)),
        (_CODE, ("messy", "question")),
        (_DATE, ("abbreviation",)),
    ),
}
CHAT_PLANS["test"] = CHAT_PLANS["selection"]
"""Test has the same mix, with other dates and codes."""


@dataclass(frozen=True)
class _Pool:
    """Dates and codes, each handed out once, so that no two tasks are the same."""

    dates: Iterator[dt.date]
    codes: Iterator[tuple[str, str]]

    @classmethod
    def shuffled(cls, rng: random.Random) -> _Pool:
        # Days up to 12: in figures, day and month could be either.
        dates = [dt.date(year, month, day) for year in (2024, 2025) for month in range(1, 13) for day in range(1, 13)]
        dates = [date for date in dates if date.day != date.month]
        codes = [(letters, f"{number:02}") for letters in ("AK", "BR", "CT", "DV", "EX") for number in range(10, 90, 7)]
        rng.shuffle(dates)
        rng.shuffle(codes)
        return cls(iter(dates), iter(codes))


def write_chat_demo(folder: Path, *, seed: int = 11) -> DemoSet:
    """Write tasks.jsonl and the initial skill into `folder` (made if missing). The same seed writes the same bytes."""
    rng = random.Random(f"{seed}/chat")  # noqa: S311 - reproducible on purpose
    pool = _Pool.shuffled(rng)
    rows: list[dict[str, Any]] = []
    for split, plans in CHAT_PLANS.items():
        for number, (is_code, traps) in enumerate(plans, start=1):
            question, gold = _code(traps, pool, rng) if is_code else _date(traps, pool)
            rows.append(
                {
                    "id": f"{split}-{number:02}",
                    "split": split,
                    "group": "+".join(traps) or "plain",
                    "prompt": render_question(question),
                    "answer": gold,
                    "scorer": "exact_match",
                }
            )
    tasks = folder / "tasks" / "tasks.jsonl"
    tasks.parent.mkdir(parents=True, exist_ok=True)
    tasks.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows), encoding="utf-8")
    sizes = {split: len(plans) for split, plans in CHAT_PLANS.items()}
    return DemoSet(folder, tasks, write_skill(folder, SKILL), SKILL, sizes, Knobs(seed=14))


def _date(traps: tuple[str, ...], pool: _Pool) -> tuple[Question, str]:
    date = next(pool.dates)
    month = MONTHS[date.month - 1]
    given = f"{date.day} {month} {date.year}"
    if "figures" in traps:
        given = f"{date:%d/%m/%Y}"
    elif "abbreviation" in traps:
        given = f"{date.day} {month[:3]}. {date.year}"
    return Question(given, asked="question" in traps), date.isoformat()


def _code(traps: tuple[str, ...], pool: _Pool, rng: random.Random) -> tuple[Question, str]:
    letters, digits = next(pool.codes)
    given = f"{letters}-{digits}"
    if "messy" in traps:
        given = rng.choice([f"{letters.lower()} {digits}", f"{letters.title()} - {digits}", f"{letters} / {digits}"])
    return Question(given, is_code=True, asked="question" in traps), f"{letters}-{digits}"
