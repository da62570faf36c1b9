"""`command_checks`: commands that run over what the agent left, and how they must end.

They run with bash, one after the other, in the second box of `verifier_box`; files that one writes are there for the
next. `value` is the share of commands that end as they must, `hard` all of them. A command that runs out of time fails
its check: it runs the agent's work. A box that fails makes the attempt invalid.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from pydantic import Field

from daemon.tasks.scorers.patterns import all_matches
from daemon.tasks.scorers.regex import Pattern
from daemon.tasks.scorers.scorer import Context, Options, Result, Scorer, ScorerKind, UndecidedError, VerifierError
from daemon.tasks.scorers.script import EnvironmentName
from daemon.tasks.scorers.verifier_box import VerifierBox, open_verifier_box, sandbox_of, tail
from daemon.tasks.task import Score, Task
from sandboxes.sandbox import Ended, Ending

OUTPUT_BYTES = 256 * 1024
"""Of a command's standard output, from its beginning, that checks look at."""
TOLD = 5
"""Failed commands named in a feedback."""
_NOT_ITS_OWN = (Ending.LOST, Ending.KILLED)


class CommandCheck(Options):
    """One command."""

    run: str = Field(min_length=1, max_length=10_000)
    """What bash runs, in the workspace; `$TESTS_DIR` holds the task's tests."""
    name: str = Field(default="", max_length=100)
    """What feedback calls it, for instance "sorts an empty file"; empty: its number."""
    exit_code: int | None = Field(default=0, ge=0, le=255)
    """None: any."""
    stdout: str | None = None
    """The whole of its output, spaces at line ends and at the end aside."""
    contains: tuple[str, ...] = Field(default=(), strict=False)
    """Texts that each occur in its output."""
    matches: Pattern | None = None
    """A regular expression found in its output."""
    timeout_s: float = Field(default=30.0, gt=0, le=3600, allow_inf_nan=False)


class CommandOptions(Options):
    """Options of `command_checks`."""

    checks: tuple[CommandCheck, ...] = Field(min_length=1, strict=False)
    env: dict[EnvironmentName, str] = Field(default_factory=dict)


class CommandScorer:
    """Runs the commands."""

    def __init__(self, options: CommandOptions, context: Context) -> None:
        self._options = options
        self._context = context

    async def score(self, task: Task, result: Result) -> Score:
        """Run them all; raises `VerifierError` if the box fails or a pattern does not come to an end."""
        failed, detail = [], []
        until = time.monotonic() + task.verifier_timeout_s
        async with open_verifier_box(task, result, self._context, self._options.env) as verifier:
            for number, check in enumerate(self._options.checks, start=1):
                why, ended = await _outcome(check, verifier, until - time.monotonic())
                output = await asyncio.to_thread(tail, ended.stdout, 500)
                detail.append({"run": check.run[:200], "exit_code": ended.exit_code, "stdout": output, "why": why})
                if why:
                    failed.append(f"{check.name or f'command {number}'} {why}")
        asked = len(detail)
        more = f" (and {len(failed) - TOLD} more)" if len(failed) > TOLD else ""
        return Score(
            value=(asked - len(failed)) / asked,
            hard=not failed,
            feedback="; ".join(failed[:TOLD]) + more,
            detail={"commands": detail},
        )


async def _outcome(check: CommandCheck, verifier: VerifierBox, left_s: float) -> tuple[str, Ended]:
    """Empty if it ended as it must, else in what way it did not; with what became of it."""
    if left_s > 0:
        argv = ("bash", "--noprofile", "--norc", "-c", check.run)
        ended = await verifier.run(*argv, deadline_s=min(check.timeout_s, left_s))
    if left_s <= 0 or (ended.ending is Ending.DEADLINE and left_s < check.timeout_s):
        msg = "the command checks took too long together: raise verifier_timeout_s"
        raise UndecidedError(msg)
    if ended.ending is Ending.DEADLINE:
        return "ran out of time", ended
    if ended.ending in _NOT_ITS_OWN:
        msg = f"a command check was {ended.ending.value}: {ended.detail}"
        raise VerifierError(msg)
    if ended.ending is not Ending.EXITED:
        return f"ended by {ended.ending.value}", ended
    if check.exit_code is not None and ended.exit_code != check.exit_code:
        return f"ended with exit code {ended.exit_code}", ended
    if check.stdout is None and not check.contains and check.matches is None:
        return "", ended
    data = await asyncio.to_thread(_head, ended.stdout)
    return await _wrong_output(check, data.decode("utf-8", "replace"), len(data) > OUTPUT_BYTES), ended


async def _wrong_output(check: CommandCheck, output: str, cut: bool) -> str:
    if check.stdout is not None and (cut or _lines(output) != _lines(check.stdout)):
        return "printed something else" if output.strip() else "printed nothing"
    missing = sum(text not in output for text in check.contains)
    if missing:
        return f"printed a text that lacks {missing} of {len(check.contains)} parts"
    if check.matches is not None:
        [matched] = await all_matches([(check.matches, output, False)], "checks.matches")
        return "" if matched else "printed a text that does not fit its pattern"
    return ""


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(OUTPUT_BYTES + 1)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _check(task: Task, options: CommandOptions) -> None:  # every option is checked by its type
    """Nothing of the task is needed."""


def _build(options: CommandOptions, context: Context) -> Scorer:
    sandbox_of(context, "command_checks")
    return CommandScorer(options, context)


COMMAND_CHECKS = ScorerKind("command_checks", 1, CommandOptions, _check, _build, needs_sandbox=True)
