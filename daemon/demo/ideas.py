"""What the simulated optimizer can think of: for each kind of failure, ideas in the order they come to its mind.

Helpful, harmful and useless ideas look alike here, as they do from a real optimizer: only the gate can tell.
Texts are general rules; no idea names a task, a file or a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Idea:
    """One rule, and where in the skill it would go."""

    content: str
    anchor: str
    """A line of the initial skill; if the current skill does not hold it exactly once, the rule is appended."""
    op: Literal["insert_after", "replace"] = "insert_after"
    rationale: str = ""
    bold: bool = False
    """Changes much at once: proposed alone."""


@dataclass(frozen=True)
class Failure:
    """A kind of failure, and what could be done about it."""

    name: str
    description: str
    ideas: tuple[Idea, ...]


FORMULA = Failure(
    "formulas without values",
    "Cells hold formulas that nothing has evaluated, so they read as empty.",
    (
        Idea(
            "- Write computed values, never formulas, even if the task speaks of formulas: a formula that nobody has "
            "evaluated reads as an empty cell.",
            "- Keep numbers as numbers and text as text.",
            rationale="The cells were formulas without a stored value.",
        ),
    ),
)
GAP = Failure(
    "range half filled",
    "The loop stopped at an empty row, and the rest of the target range stayed empty.",
    (
        Idea(
            "- Fill every row of the target range down to its last row. Skip an empty row and do not stop at it.",
            "- Fill the cells that the task asks for.",
            op="replace",
            rationale="The second half of the range was left empty after an empty row.",
        ),
    ),
)
SHEET = Failure(
    "wrong sheet",
    "The result went to another sheet than the one of the target range.",
    (
        Idea(
            "- Always work on the first sheet of the workbook: that is where tables live.",
            "- Open the workbook with openpyxl and read the task again before writing anything.",
            rationale="The active sheet was not the right one; the first sheet is a steadier choice.",
            bold=True,
        ),
        Idea(
            "- Write to the sheet that the target range names, whichever sheet is active when the workbook opens.",
            "- Open the workbook with openpyxl and read the task again before writing anything.",
            rationale="The result went to the sheet that happened to be active.",
        ),
    ),
)
KEYS = Failure(
    "keys not matched",
    "Keys that mean the same are spelled differently (case, spaces, number as text) and found no match.",
    (
        Idea(
            "- Normalise keys on both sides before comparing them: strip spaces, fold case, and read a number stored "
            "as text as that number.",
            "- Join two tables on the key column that the task names.",
            rationale="Keys that mean the same were compared as they are typed.",
        ),
    ),
)
FORMAT_AS_IS = Idea(
    "- Leave fonts, colours and column widths as they are.",
    "- Save under the file name that the task gives, and say in one sentence what was done.",
    rationale="The attempts that succeeded changed nothing but the target cells.",
)
SENTENCE = Failure(
    "answer in a sentence",
    "A question was answered with a sentence where the value was wanted.",
    (
        Idea(
            "- Answer with the value alone, also when the task is a question.",
            "- Give one answer.",
            rationale="The value was right, the words around it were not wanted.",
        ),
    ),
)
CODES = Failure(
    "code in another shape",
    "A code was copied as typed.",
    (
        Idea(
            "- Write codes in upper case, with one hyphen between letters and digits, without spaces.",
            "- Copy codes with care.",
            rationale="Codes were copied as they were typed.",
        ),
    ),
)
DATES = Failure(
    "day and month swapped",
    "A date in figures was read with the month first.",
    (
        Idea(
            "- Give dates as written in the task.",
            "- Write dates as YYYY-MM-DD.",
            rationale="Rewriting dates went wrong; copying them cannot.",
            bold=True,
        ),
        Idea(
            "- In a date in figures the day comes first, then the month.",
            "- Write dates as YYYY-MM-DD.",
            rationale="Day and month were swapped.",
        ),
    ),
)
POLITE = Idea(
    "- Read the task twice before answering.",
    "- Say so if the task cannot be answered.",
    rationale="The attempts that succeeded kept close to the task.",
)
FAILURES = (FORMULA, GAP, SHEET, KEYS, SENTENCE, DATES, CODES)
"""In the order of their weight: what comes first is mended first."""
HABITS_KEPT = {"spreadsheets": FORMAT_AS_IS, "text": POLITE}
"""By family: what a run of successes suggests."""
