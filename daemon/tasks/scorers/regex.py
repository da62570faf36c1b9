"""`regex`: the answer matches patterns that it must match, and none that it must not.

Patterns are Python's (`re`), so that authors can try them anywhere. `re` cannot be interrupted, so they run in the
bounded process: one that backtracks without end costs that process its second and makes the attempt invalid, since
it is the task's pattern that is wrong and not the agent.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from daemon.tasks.scorers.extract import ExtractOptions, extract_answer
from daemon.tasks.scorers.patterns import all_matches, check_pattern
from daemon.tasks.scorers.scorer import Context, Result, Scorer, ScorerKind
from daemon.tasks.task import Score, Task

Pattern = Annotated[str, Field(min_length=1, max_length=10_000), AfterValidator(check_pattern)]


class RegexOptions(ExtractOptions):
    """Options of `regex`."""

    fallback: Literal["all", "last_line"] = "all"
    all: tuple[Pattern, ...] = Field(default=(), strict=False)
    """Patterns that must each be found."""
    none: tuple[Pattern, ...] = Field(default=(), strict=False)
    """Patterns of which none may be found."""
    whole: bool = False
    """True: a pattern of `all` must match the whole answer."""


class RegexScorer:
    """`value` is the share of patterns that hold, `hard` all of them."""

    def __init__(self, options: RegexOptions) -> None:
        self._options = options

    async def score(self, task: Task, result: Result) -> Score:
        """Score the final answer; raises `VerifierError` if a pattern does not come to an end."""
        options = self._options
        answer = await extract_answer(result.final_answer, options)
        asked = [(pattern, answer, options.whole) for pattern in options.all]
        asked += [(pattern, answer, False) for pattern in options.none]
        found = await all_matches(asked, "all or none")
        wanted, unwanted = found[: len(options.all)], found[len(options.all) :]
        missing, present = wanted.count(False), unwanted.count(True)
        hard = bool(answer) and not missing and not present
        return Score(
            value=1 - (missing + present) / len(found) if answer else 0.0,
            hard=hard,
            feedback="" if hard else _feedback(answer, missing, present, found),
            detail={"predicted": answer[:500], "wanted": wanted, "unwanted": unwanted},
        )


def _feedback(answer: str, missing: int, present: int, found: list[bool]) -> str:
    if not answer:
        return "no answer was given"
    parts = []
    if missing:
        parts.append(f"{missing} of {len(found)} patterns that the answer must fit do not")
    if present:
        parts.append(f"{present} of {len(found)} patterns that it must not fit do")
    return "; ".join(parts)


def _check(task: Task, options: RegexOptions) -> None:
    if not options.all and not options.none:
        msg = "scorer.all: give at least one pattern in all or none"
        raise ValueError(msg)


def _build(options: RegexOptions, context: Context) -> Scorer:
    return RegexScorer(options)


REGEX = ScorerKind("regex", 1, RegexOptions, _check, _build)
