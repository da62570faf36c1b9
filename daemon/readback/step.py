"""One step, whole: what it saw, what was proposed, what became of it, and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.journal.journal import Journal
from daemon.journal.records import AttemptRow, ReplyRecord
from daemon.optimizer.batches import minibatches
from daemon.optimizer.decision import StepDecision
from daemon.optimizer.memory import EarlierStep, StepBuffer
from daemon.readback.costs import Cost, of_step, place_of
from daemon.readback.run import RunView
from daemon.rollouts.result import TaskResult
from daemon.tasks.task import ScorerSpec, Task


@dataclass(frozen=True)
class BatchRow:
    """One task of the step's batch, under the skill that the step began with."""

    batch: int
    task: str
    row: AttemptRow | None
    """The attempt that counts; None where the journal has none (the step died before it)."""
    reused: bool
    """Paid for earlier: by another step, phase or run."""


@dataclass(frozen=True)
class ReflectionView:
    """One minibatch and what the optimizer said about it."""

    place: str
    tasks: tuple[str, ...]
    """Empty where it cannot be worked out any more."""
    reply: ReplyRecord


@dataclass(frozen=True)
class StepView:
    """What the journal knows of a step."""

    decision: StepDecision
    commits: tuple[str, ...]
    batch: tuple[BatchRow, ...]
    reflections: tuple[ReflectionView, ...]
    merges: tuple[ReplyRecord, ...]
    """By group, each group's tree level by level."""
    ranking: tuple[ReplyRecord, ...]
    others: tuple[ReplyRecord, ...]
    """Replies at other places of the step: rewrites, corrections, learning rates."""
    buffer: tuple[EarlierStep, ...]
    """What this step's reflections were told of the epoch's earlier steps."""
    cost: Cost


async def read_step(journal: Journal, run: RunView, decision: StepDecision) -> StepView:
    """Everything about one decided step."""
    batch = tuple(await _batch(journal, run, decision))
    mine = [reply for reply in run.replies if reply.place.startswith(f"{decision.step}/")]
    phase = {reply.place: reply.place.split("/")[1] for reply in mine}
    tasks = _minibatch_tasks(run, decision, batch)
    reflections = [
        ReflectionView(reply.place, tasks.get(reply.place.split("/", 2)[2], ()), reply)
        for reply in mine
        if phase[reply.place] == "reflect"
    ]
    merges = [reply for reply in mine if phase[reply.place].startswith("merge")]
    ranking = [reply for reply in mine if phase[reply.place] == "rank"]
    known = {"reflect", "rank", *(phase[reply.place] for reply in merges)}
    return StepView(
        decision=decision,
        commits=run.commits.get(decision.step, ()),
        batch=batch,
        reflections=tuple(sorted(reflections, key=lambda view: _natural(view.place))),
        merges=tuple(sorted(merges, key=lambda reply: (phase[reply.place] == "merge_both", _natural(reply.place)))),
        ranking=tuple(ranking),
        others=tuple(reply for reply in mine if phase[reply.place] not in known),
        buffer=_buffer(run, decision),
        cost=of_step(run.costs, decision.step),
    )


async def _batch(journal: Journal, run: RunView, decision: StepDecision) -> Iterable[BatchRow]:
    known = await journal.attempt_rows(skill_digest=decision.base_digest)
    rows = [row for row in known if _same_target(row, run.fingerprint)]
    dated = sorted((d for d in run.decisions if "when" in d.payload), key=lambda d: d.payload["when"])
    found: list[BatchRow] = []
    for number, ids in enumerate(decision.batches):
        for task in sorted(ids):
            row = _counting([row for row in rows if row.record.task_id == task], run.run.run_id)
            mine = row is not None and row.run_id == run.run.run_id
            paid = mine and row is not None and place_of(row, dated) == (decision.step, "rollouts")
            found.append(BatchRow(number, task, row, reused=row is not None and not paid))
    return found


def _same_target(row: AttemptRow, fingerprint: Mapping[str, str]) -> bool:
    """Made by the agent that this run trains for, as first trial."""
    about = {key.removeprefix("target."): value for key, value in fingerprint.items() if key.startswith("target.")}
    harness = fingerprint.get("harness", row.key.harness)
    return row.key.trial == 0 and row.key.harness == harness and (not about or dict(row.key.settings) == about)


def _counting(rows: Sequence[AttemptRow], run_id: str) -> AttemptRow | None:
    """The scored one that was finished first, else this run's last invalid one."""
    ours = {row.key.task_digest for row in rows if row.run_id == run_id}
    same = [row for row in rows if not ours or row.key.task_digest in ours]
    scored = [row for row in same if row.record.score is not None]
    invalid = [row for row in same if row.run_id == run_id]
    return scored[0] if scored else (invalid[-1] if invalid else None)


def _minibatch_tasks(run: RunView, decision: StepDecision, batch: Sequence[BatchRow]) -> Mapping[str, tuple[str, ...]]:
    """Which tasks each minibatch held, by its place; cut again (it is seeded) where that is not written down."""
    if decision.minibatches:
        return dict(decision.minibatches)
    size, seed = (_number(run.fingerprint.get(f"train.{key}")) for key in ("minibatch", "seed"))
    if size is None or seed is None:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for ordinal in range(len(decision.batches)):
        results = [
            TaskResult(Task(row.task, "", ScorerSpec("")), row.row.record, row.reused)
            for row in batch
            if row.batch == ordinal and row.row is not None
        ]
        cut = minibatches(results, size=size, seed=seed, step=decision.step, ordinal=ordinal)
        found |= {one.place: one.ids for one in cut}
    return found


def _number(text: str | None) -> int | None:
    value = None if text is None else json.loads(text)
    return value if isinstance(value, int) else None


def _buffer(run: RunView, decision: StepDecision) -> tuple[EarlierStep, ...]:
    """The epoch's earlier steps as reflections were shown them; nothing where the buffer is off."""
    if run.fingerprint.get("train.rejected_buffer") == "false":
        return ()
    buffer = StepBuffer()
    for step in run.steps:
        if step.step < decision.step:
            buffer = buffer.after(step)
    buffer = buffer.at(decision.epoch)
    return (buffer if run.fingerprint.get("train.buffer_groups") == "true" else buffer.without_groups).entries


def _natural(place: str) -> tuple[Any, ...]:
    """Orders `0.2` before `0.10`."""
    parts = place.replace("/", ".").split(".")
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts)
