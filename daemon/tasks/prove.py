"""Proof that a task measures something: its solution scores 1, and an agent that does nothing scores 0.

Both are run as attempts are: a solution in a sandbox of its own, then the task's scorer over what it left; a game's
solution is its walkthrough. A task whose solution fails would teach an optimizer that right is wrong; one that is
solved from the start teaches nothing. Whatever cannot be scored is said as what it is, and is never a 0.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from daemon.tasks.episodes.process import GameError
from daemon.tasks.episodes.walk import Walk, walk
from daemon.tasks.scorers.registry import needs_sandbox, score_task
from daemon.tasks.scorers.scorer import Context, Result, VerifierError
from daemon.tasks.solving import Try
from daemon.tasks.steps import StepDone, combined, ends_after, place_of
from daemon.tasks.task import SOLVE, Score, Task
from harnesses.episode import EpisodeError
from harnesses.task_script import SetupError
from sandboxes.sandbox import Carried, Collected, Ending, Sandbox, SandboxError


class Verdict(StrEnum):
    """What a task is worth."""

    PROVED = "proved"
    HALF = "nothing scores 0"
    """There is no solution to try."""
    ORACLE_FAILS = "solution fails"
    NOTHING_PASSES = "nothing passes"
    UNSCORED = "cannot be scored"
    """The verifier failed, as where a script leaves no reward: no attempt on this task can ever be valid."""
    NOT_RUN = "not run"
    """No image, no sandbox: a failure of ours, which says nothing of the task."""

    @property
    def sound(self) -> bool:
        """Nothing speaks against the task."""
        return self in (Verdict.PROVED, Verdict.HALF)


@dataclass(frozen=True)
class Proof:
    """What came of it. Scores are None where there is none."""

    task: str
    verdict: Verdict
    oracle: float | None = None
    nothing: float | None = None
    detail: str = ""
    """One line for people: what failed and what to look at. May show what tests print, so it goes to no model."""
    wall_s: float = 0.0


class _NoProofError(Exception):
    """The proof ends here; carries the verdict."""

    def __init__(self, verdict: Verdict, detail: str) -> None:
        super().__init__(detail)
        self.verdict = verdict


def needs_box(task: Task) -> bool:
    """Whether it takes a box: a solution or a scorer that runs something."""
    return SOLVE in task.solution or needs_sandbox(task)


async def prove(task: Task, context: Context) -> Proof:
    """Try the task's solution and then nothing. Raises nothing but `CancelledError`."""
    began = time.monotonic()
    scores: dict[str, float | None] = {"oracle": None, "nothing": None}
    try:
        verdict, detail = await _verdict(task, context, scores)
    except _NoProofError as error:
        verdict, detail = error.verdict, str(error)
    wall_s = round(time.monotonic() - began, 2)
    return Proof(task.id, verdict, scores["oracle"], scores["nothing"], " ".join(detail.split()), wall_s)


async def _verdict(task: Task, context: Context, scores: dict[str, float | None]) -> tuple[Verdict, str]:
    played = await _played(task)
    nothing, solved, _ = await _idle(task, context, played)
    scores["nothing"] = nothing
    right = await _right(task, context, played)
    if right is not None:
        scores["oracle"] = right[0]
        if not right[1]:
            return Verdict.ORACLE_FAILS, f"{right[2]}{_network(task)}"
    if solved or (nothing > 0 and task.scorer.name == "test_script"):
        return Verdict.NOTHING_PASSES, f"an agent that does nothing scores {nothing:g}"
    share = f"an agent that does nothing scores {nothing:g} of 1" if nothing > 0 else ""
    return (Verdict.HALF if right is None else Verdict.PROVED), share


async def _idle(task: Task, context: Context, played: Walk | None) -> tuple[float, bool, str]:
    """As `_scored`, of an agent that does nothing."""
    if task.steps:
        return await _in_steps(task, context, solves=False)
    files = await asyncio.to_thread(task.file_bytes) if task.files else {}
    return await _scored(task, Result("", Collected(files), played.start if played else None), context, "nothing")


async def _right(task: Task, context: Context, played: Walk | None) -> tuple[float, bool, str] | None:
    """Likewise of a right agent; None where nothing says what that is."""
    if task.steps:
        solved = all(SOLVE in step.solution for step in task.steps)
        return await _in_steps(task, context, solves=True) if solved else None
    oracle = _walked(played) if played else await _oracle(task, context)
    if oracle is None:
        return None
    value, hard, feedback = await _scored(task, oracle[0], context, "the solution")
    return value, hard, f"{feedback or 'the solution is not right'}{oracle[1]}"


async def _played(task: Task) -> Walk | None:
    try:
        return await walk(task)
    except GameError as error:
        raise _NoProofError(Verdict.UNSCORED, str(error)) from error
    except EpisodeError as error:
        raise _NoProofError(Verdict.NOT_RUN, str(error)) from error


def _walked(played: Walk) -> tuple[Result, str] | None:
    return None if played.end is None else (Result(episode=played.end), " (by its walkthrough)")


async def _scored(task: Task, result: Result, context: Context, who: str) -> tuple[float, bool, str]:
    """Value, whether solved, and why not with the end of what the tests printed."""
    score = await _score(task, result, context, who)
    return score.value, score.hard, f"{score.feedback}{_printed(score)}"


async def _score(task: Task, result: Result, context: Context, who: str) -> Score:
    try:
        return await score_task(task, result, context)
    except VerifierError as error:
        if isinstance(error.__cause__, SandboxError):
            raise _NoProofError(Verdict.NOT_RUN, str(error)) from error
        raise _NoProofError(Verdict.UNSCORED, f"{who}: {error}{_network(task)}") from error


def _printed(score: Score) -> str:
    printed = str(score.detail.get("stderr") or score.detail.get("stdout") or "").strip()
    return f" (tests end: {printed[-160:]!r})" if printed else ""


def _network(task: Task) -> str:
    if task.network == "none":
        return ""
    return "; the task may use the network, which no box has: put what it fetches into its image"


async def _oracle(task: Task, context: Context) -> tuple[Result, str] | None:
    """What a right agent leaves, and a remark; None where nothing says what that is."""
    if SOLVE in task.solution:
        return await _solved(task, context)
    reads = task.files or task.tests or task.solution  # a thread for each of 100,000 answers would take a minute
    plain = await asyncio.to_thread(_answered, task) if reads else _answered(task)
    return None if plain is None else (plain, "")


def _answered(task: Task) -> Result | None:
    """What the solution says or leaves; else the gold answer as an agent would give it, or the gold workbook."""
    if task.reply is not None or task.solution:
        left = {path: source.read_bytes() for path, source in sorted(task.solution.items())}
        return Result(task.reply or "", Collected({**task.file_bytes(), **left}))
    options: Mapping[str, Any] = task.scorer.options
    if task.scorer.name == "spreadsheet_cells":
        gold = task.tests[options["gold"]].read_bytes()
        return Result("", Collected({**task.file_bytes(), options["output"]: gold}))
    answer = task.answer[0] if isinstance(task.answer, list) and task.answer else task.answer
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or options.get("extract"):
        return None
    tag = options.get("answer_tag", "answer")
    return Result(f"<{tag}>{answer}</{tag}>" if tag else str(answer))


async def _solved(task: Task, context: Context) -> tuple[Result, str]:
    async with _scratch(context) as (sandbox, folder):
        left, said = await _run(task, Try(sandbox, context.limits, folder))
    return Result("", left), said


@asynccontextmanager
async def _scratch(context: Context) -> AsyncIterator[tuple[Sandbox, Path]]:
    """The sandbox, and a folder for what is run; a sandbox that fails says nothing of the task."""
    if context.sandbox is None:
        raise _NoProofError(Verdict.NOT_RUN, "there is no sandbox to run its solution in: see `honed doctor`")
    with tempfile.TemporaryDirectory(prefix="honed-prove-", dir=context.folder, ignore_cleanup_errors=True) as made:
        try:
            yield context.sandbox, Path(made)
        except SandboxError as error:
            raise _NoProofError(Verdict.NOT_RUN, f"the sandbox failed: {error}") from error


async def _run(task: Task, how: Try, where: str = "") -> tuple[Collected, str]:
    """What is left, and a remark on a solution that ended with an error."""
    try:
        ended, left, said = await how.run(task)
    except SetupError as error:
        raise _NoProofError(Verdict.UNSCORED, f"{where}{error}{_network(task)}") from error
    if ended is None:
        return left, ""
    if ended.ending is Ending.DEADLINE:
        late = f"{where}the solution ran out of its {task.timeout_s:g} s{_network(task)}"
        raise _NoProofError(Verdict.ORACLE_FAILS, late)
    if ended.ending is not Ending.EXITED:
        raise _NoProofError(Verdict.NOT_RUN, f"{where}the solution ended by {ended.ending.value} {ended.detail}")
    return left, f" (solve.sh: exit code {ended.exit_code}{said})" if ended.exit_code else ""


async def _in_steps(task: Task, context: Context, *, solves: bool) -> tuple[float, bool, str]:
    """As `_scored`, of every step in its order, in one workspace."""
    who, done, remarks = "the solution" if solves else "nothing", list[StepDone](), ""
    async with _scratch(context) as (sandbox, folder):
        carried = None
        for number, step in enumerate(task.steps, start=1):
            one, place = task.at(step), place_of(task, step)
            how = Try(sandbox, context.limits, folder / str(number), carried=carried, setup=step.setup, solves=solves)
            left, remark = await _run(one, how, f"{place}: ")
            score = await _score(one, Result("", left), context, f"{who}, {place}")
            done.append(StepDone(step, score))
            remarks = remarks or ("" if score.hard else f"{_printed(score)}{remark}")
            if ends_after(done[-1]):
                break
            carried = Carried(how.box)
    try:
        score = combined(task, done)
    except VerifierError as error:
        raise _NoProofError(Verdict.UNSCORED, str(error)) from error
    return score.value, score.hard, f"{score.feedback or 'the solution is not right'}{remarks}"
