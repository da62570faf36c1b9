"""From an ended attempt to its record: a score where there is one to give, else a named failure.

A verifier that fails is tried again on the same result; the agent is never run again for it. A test script that fails
on what the agent left, and not on the files that the agent was given, is a failed check: no agent takes an attempt
back by leaving what makes the script hang, or write no reward.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace

import structlog

from daemon.journal.records import AttemptKey, AttemptRecord
from daemon.redaction import redact, redact_value
from daemon.tasks.scorers.scorer import JudgedScore, Result, UndecidedError, VerifierError
from daemon.tasks.task import Score, Task
from harnesses.harness import Attempt
from harnesses.outcome import POLICIES, Outcome
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected

log = structlog.get_logger(__name__)
PATIENCE = 3
"""Times its own time that a script has, before what the agent left is to blame: the machine may only be busy."""
UNCHECKED = "the checks come to no end, or to no result, on what the agent left"

Verifier = Callable[[Task, Result], Awaitable[Score]]
"""Scores a result; raises only `VerifierError`. The real one is `score_task` of the scorer registry."""


def record_of(attempt: Attempt, task: Task, key: AttemptKey) -> AttemptRecord:
    """The attempt as it is remembered, not yet scored."""
    return AttemptRecord(
        attempt_id=attempt.attempt_id,
        key=key.digest,
        task_id=task.id,
        outcome=attempt.outcome,
        detail=attempt.detail,
        score=None,
        hard=None,
        feedback="",
        summary=attempt.summary,
        final_answer=attempt.trace.final_answer,
        skill_listed=attempt.trace.skill_listed,
        skill_opened=attempt.trace.skill_opened,
        usage=asdict(attempt.usage),
        wall_s=attempt.wall_s,
        versions=dict(attempt.versions),
        engine=asdict(attempt.engine) if attempt.engine else {},
        score_detail={},
    )


def left_by(attempt: Attempt) -> Result:
    """What the attempt left, to be scored."""
    return Result(attempt.trace.final_answer, attempt.workspace, attempt.episode)


def remembered(record: AttemptRecord) -> AttemptRecord:
    """The record of a finished attempt as it is journaled, told and reflected on: without secrets it came upon."""
    return replace(
        record,
        detail=redact(record.detail),
        feedback=redact(record.feedback),
        summary=redact(record.summary),
        final_answer=redact(record.final_answer),
        score_detail=redact_value(record.score_detail),
    )


class Judge:
    """Scores attempts."""

    def __init__(self, verifier: Verifier, tries: int, wait: Callable[[int], Awaitable[None]]) -> None:
        self._verifier = verifier
        self._tries = tries
        self._wait = wait

    async def judge(self, record: AttemptRecord, result: Result, task: Task, key: AttemptKey) -> AttemptRecord:
        """The record of an ended attempt with its score, or with the outcome that says why there is none."""
        if not POLICIES[Outcome(record.outcome)].scored:
            return record
        if key.skill_digest and record.skill_listed is False and not record.skill_opened:
            return replace(record, outcome=Outcome.SKILL_NOT_VISIBLE, detail="the agent was not told of the skill")
        used = Usage(**record.usage)
        try:
            score, judging = await self._decided(task, result)
        except VerifierError as error:
            usage = asdict(used + error.usage)
            return replace(record, outcome=Outcome.VERIFIER_FAILED, detail=" ".join(str(error).split()), usage=usage)
        return replace(
            record,
            score=score.value,
            hard=score.hard,
            feedback=score.feedback,
            score_detail=dict(score.detail),
            usage=asdict(used + judging),
        )

    async def _decided(self, task: Task, result: Result) -> tuple[Score, Usage]:
        """As `_score`, of a script that fails only on what the agent left, too."""
        try:
            return await self._score(task, result)
        except UndecidedError as error:
            if not await self._works(task):
                raise
            return await self._once_more(task, result), error.usage

    async def _works(self, task: Task) -> bool:
        """The control: whether the script comes to a score, whichever, on the files that the agent was given."""
        try:
            files = await asyncio.to_thread(task.file_bytes)
            await self._verifier(task, Result(workspace=Collected(files)))
        except (VerifierError, OSError) as error:
            log.warning("verifier_fails_on_untouched_files", task=task.id, error=str(error))
            return False
        return True

    async def _once_more(self, task: Task, result: Result) -> Score:
        """The last try, with more time."""
        patient = replace(task, verifier_timeout_s=task.verifier_timeout_s * PATIENCE)
        try:
            return await self._verifier(patient, result)
        except UndecidedError as error:
            log.info("verifier_fails_on_what_was_left", task=task.id)
            return Score(value=0.0, hard=False, feedback=UNCHECKED, detail={"verifier": str(error)})

    async def _score(self, task: Task, result: Result) -> tuple[Score, Usage]:
        """The score, and what judge models used for it: in vain, too."""
        number, used = 1, Usage()
        while True:
            try:
                score = await self._verifier(task, result)
            except VerifierError as error:
                used += error.usage
                if number >= self._tries:
                    kind = UndecidedError if isinstance(error, UndecidedError) else VerifierError
                    raise kind(str(error), used) from error
            else:
                return score, used + (score.usage if isinstance(score, JudgedScore) else Usage())
            await self._wait(number)
            number += 1
