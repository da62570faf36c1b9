"""A task that is done in steps, as one attempt: a fresh run of the agent a step, each in the workspace that is left.

Order of a step: its files and its setup script, the agent with the skill laid anew, then the step's tests elsewhere,
over what was collected. Turns, caps and the deadline count for each step. No score before the last step has one: a
failure of ours at any step makes the whole attempt invalid.
"""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from daemon.budget.purse import Spend
from daemon.journal.records import AttemptKey, AttemptRecord
from daemon.rollouts.result import usage_of
from daemon.rollouts.scoring import Judge, left_by, record_of
from daemon.tasks.scorers.scorer import VerifierError
from daemon.tasks.steps import StepDone, combined, ends_after, place_of
from daemon.tasks.task import Score, Step, Task
from harnesses.harness import Assignment, Attempt, Before, Harness
from harnesses.keep import write_summary
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import Usage
from sandboxes.sandbox import Collected


@dataclass
class _SoFar:
    """What became of the steps that ran."""

    task: Task
    records: list[AttemptRecord] = field(default_factory=list)
    done: list[StepDone] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """Of all of them."""
        return sum((usage_of(record) for record in self.records), Usage())


class Stepwise:
    """Makes attempts at tasks that are done in steps."""

    def __init__(self, harness: Harness, judge: Judge) -> None:
        self._harness = harness
        self._judge = judge

    async def run(self, given: Assignment, task: Task, key: AttemptKey, spend: Spend) -> AttemptRecord:
        """Run the steps in order until one ends the task; `given` is the assignment of the task as a whole."""
        so_far, before = _SoFar(task), None
        for number, step in enumerate(task.steps, start=1):
            assignment = await asyncio.to_thread(_assignment, given, task.at(step), step, number, before)
            attempt = await self._harness.run(assignment)
            spend.usage = so_far.usage + attempt.usage
            record = await self._judge.judge(record_of(attempt, task, key), left_by(attempt), task.at(step), key)
            so_far.records.append(record)
            spend.usage = so_far.usage
            if record.score is None:
                break
            score = Score(record.score, bool(record.hard), record.feedback, record.score_detail)
            so_far.done.append(StepDone(step, score))
            if ends_after(so_far.done[-1]):
                break
            before = Before(assignment.folder, _left(attempt, assignment))
        return await asyncio.to_thread(_whole, so_far, self._harness.name, given.folder)


def _assignment(given: Assignment, one: Task, step: Step, number: int, before: Before | None) -> Assignment:
    folder = given.folder / f"step-{number}"
    folder.mkdir()
    return replace(
        given,
        prompt=one.prompt,
        folder=folder,
        files=one.file_bytes(),
        deadline_s=one.timeout_s,
        before=before,
        setup=step.setup,
    )


def _left(attempt: Attempt, assignment: Assignment) -> Collected:
    """What the next step starts with. A chat model has no workspace: it is shown again what it was given."""
    none = attempt.engine is None and not attempt.workspace.files
    return Collected(assignment.seen) if none else attempt.workspace


def _whole(so_far: _SoFar, harness: str, folder: Path) -> AttemptRecord:
    """The attempt's one record."""
    task, records = so_far.task, so_far.records
    last = records[-1]
    summary = _summary(so_far)
    write_summary(folder, harness, summary)
    # Of scored steps the first that did not simply come to its end is worth telling.
    unusual = (one for one in records if one.outcome != Outcome.COMPLETED)
    told = last if last.score is None else next(unusual, last)
    place = place_of(task, task.steps[records.index(told)])
    listed = [one.skill_listed for one in records if one.skill_listed is not None]
    whole = replace(
        last,
        outcome=told.outcome,
        detail=f"{place}: {told.detail}" if told.detail else "",
        score=None,
        hard=None,
        feedback="",
        summary=summary,
        skill_listed=all(listed) if listed else None,
        skill_opened=any(one.skill_opened for one in records),
        usage=asdict(so_far.usage),
        wall_s=sum(one.wall_s for one in records),
        score_detail={},
    )
    return _scored(whole, so_far) if last.score is not None else whole


def _scored(whole: AttemptRecord, so_far: _SoFar) -> AttemptRecord:
    try:
        score = combined(so_far.task, so_far.done)
    except VerifierError as error:
        return replace(whole, outcome=Outcome.VERIFIER_FAILED, detail=str(error))
    return replace(whole, score=score.value, hard=score.hard, feedback=score.feedback, score_detail=dict(score.detail))


def _summary(so_far: _SoFar) -> str:
    ran = zip(so_far.task.steps, so_far.records, strict=False)
    return "\n\n".join(f"# {place_of(so_far.task, step)}\n\n{record.summary}" for step, record in ran)
