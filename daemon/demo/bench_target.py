"""The simulated target on benchmark tasks: a weak reader that is honest. It knows no item and no gold answer.

It reads what it is shown: search results by shared words, a table by its row and column, a page by its labels, and sums
by their signs. Of choices it takes the most careful one. Without a rule to give the answer alone it gives a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from daemon.demo.bench_sums import value_of
from daemon.demo.png_text import transcript

_CLUE = re.compile(r"^Clue: (.+?)\n\nSearch results:\n(.+?)\n\nGive the answer", re.DOTALL | re.MULTILINE)
_PAGE = re.compile(r"The image (\S+) is a scanned page\. .*?:\n\n(.+?)\n\n", re.DOTALL)
_BULLETIN = re.compile(r"from the Treasury Bulletin texts? in this folder: .+?\.\n\n(.+?)\n\nEnd your reply", re.DOTALL)
_CHOICE = re.compile(r"^([A-J])\. (.+)$", re.MULTILINE)
_NAME = re.compile(r"\b(?:[A-Z][\w.]*(?: (?=[A-Z])[A-Z][\w.]*)*|\d[\d,.]*\d|\d)")
_COMMON = frozenset(
    re.findall(r"\w+", "a an the of in on at for to and or was were is are it its this that by with what who which")
)


def page_asked(prompt: str) -> str | None:
    """The image file that a prompt is about."""
    found = _PAGE.search(prompt)
    return found[1] if found else None


def answer_benchmark(prompt: str, images: Iterable[bytes], skill: str) -> str | None:
    """The reply to a benchmark's prompt; None if it is none."""
    bare = "alone" in skill
    if found := _CLUE.search(prompt):
        return _tagged(_from_text(found[1], found[2]), "answer", bare=bare)
    if found := _PAGE.search(prompt):
        page = "\n".join(map(transcript, images))
        return _tagged(_from_page(found[2], page), "answer", bare=bare)
    if found := _BULLETIN.search(prompt):
        return _tagged(_from_table(found[1], prompt), "FINAL_ANSWER", bare=bare)
    if "Exactly one choice is right." in prompt:
        letter, _ = max(_CHOICE.findall(prompt), key=lambda choice: len(choice[1]), default=("A", ""))
        return _tagged(letter, "answer", bare=True)
    if "competition problem" in prompt or "Solve the following problem" in prompt:
        value = value_of(prompt)
        start = "So the final answer is " if "So the final answer is" in prompt else ""
        return f"{start}\\boxed{{{value}}}" if value else "I cannot solve it."
    return None


def _tagged(answer: str, tag: str, *, bare: bool) -> str:
    said = answer if bare else f"The answer is {answer}."
    return f"<{tag}>{said}</{tag}>"


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _COMMON}


def _nearest(question: str, lines: Iterable[str]) -> str:
    """The line that shares most words with the question; of equals the first."""
    asked = _words(question)
    return max(lines, key=lambda line: len(asked & _words(line)), default="")


def _from_text(question: str, text: str) -> str:
    """The first name or number of the nearest sentence that the question does not hold; else its last word."""
    sentence = _nearest(question, re.split(r"\[(?:DOC|TLE|PAR)\]|(?<=[a-z0-9])[.;] ", text))
    asked = _words(question)
    names = [name.strip(".,") for name in _NAME.findall(sentence)]
    fresh = [name for name in names if name and _words(name) and not _words(name) & asked]
    return fresh[0] if fresh else (sentence.split() or ["nothing"])[-1].strip(".,")


def _from_page(question: str, page: str) -> str:
    line = _nearest(question, (line for line in page.splitlines() if ":" in line))
    return line.partition(":")[2].strip() or "nothing"


def _from_table(question: str, text: str) -> str:
    """The cell where the row that the question names and the column of its year cross."""
    rows = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    years = re.findall(r"\b(?:18|19|20)\d\d\b", question)
    header: list[str] = []
    found, best = "nothing", 0
    for row in rows:
        if any(year in cell for year in years for cell in row):
            header = row
        shared = len(_words(question) & _words(row[0]))
        column = next((at for at, cell in enumerate(header) if years and years[0] in cell), 0)
        if header and row is not header and shared > best and column < len(row):
            found, best = row[column], shared
    return found
