"""What agents did on the training tasks that an edit names as its evidence, in a few lines each, fit to be shown.

Invariants: training attempts alone; every text passes the firewall, whole, before it is shortened; only where the task
set is still the one that the run was made on, for another one's gold nobody could cut out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import structlog

from daemon.config import Config
from daemon.journal.journal import Journal
from daemon.journal.records import AttemptRecord
from daemon.optimizer.firewall import Firewall
from daemon.readback.run import RunView
from daemon.readback.step import read_step
from daemon.redaction import redact
from daemon.tasks.task import Task, TaskError, TaskSet
from daemon.wiring import open_tasks
from harnesses.traces.summary import condensed
from skills_repo.message import place_of
from skills_repo.publish.facts import Excerpt
from skills_repo.publish.proposal import Proposal
from skills_repo.skill import Skill

MOST = 6
PER_EDIT = 2
TOKENS = 300
"""Of one excerpt, by estimate."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Known:
    """The task set, and the firewall that it makes."""

    tasks: TaskSet
    firewall: Firewall

    @classmethod
    def of(cls, tasks: TaskSet) -> Known:
        """Blocks: reads the tasks' files."""
        return cls(tasks, Firewall.of(tasks))

    def about(self, view: RunView) -> bool:
        """The run was made on this very set."""
        return view.fingerprint.get("tasks") == self.tasks.digest

    def may_show(self, text: str, skill: Skill) -> bool:
        """A text of the optimizer's without gold, held-out text and credentials."""
        return redact(text) == text and not self.firewall.text(text, skill)


async def open_known(config: Config) -> Known | None:
    """None where the tasks cannot be read any more: then nothing is shown that needs them."""
    try:
        return await asyncio.to_thread(lambda: Known.of(open_tasks(config)))
    except (TaskError, OSError) as error:
        log.warning("the tasks cannot be read: the body shows no excerpts", error=str(error))
        return None


async def excerpts_of(
    journal: Journal, views: Sequence[RunView], proposal: Proposal, known: Known
) -> tuple[Excerpt, ...]:
    """At most `MOST`, in the order of the edits; failed attempts before solved ones."""
    runs = {view.run.run_id: view for view in views if known.about(view)}
    train = {task.id: task for task in known.tasks.split("train")}
    found: dict[tuple[int, str], Excerpt] = {}
    for commit in proposal.edits:
        place = place_of(commit.trailers)
        if len(found) >= MOST or place is None or place[0] not in runs or place[2] != "step":
            continue
        ids = [task for task in commit.trailers.get("Honed-Evidence", "").split() if task in train]
        records = await _attempts(journal, runs[place[0]], place[1])
        for record in _chosen(records, ids):
            text = _text(record, train[record.task_id], proposal.before, known.firewall)
            found.setdefault((place[1], record.task_id), Excerpt(place[1], record.task_id, text))
    return tuple(found.values())[:MOST]


async def _attempts(journal: Journal, view: RunView, step: int) -> dict[str, AttemptRecord]:
    """The attempts of a step's batch, by task."""
    decision = view.step(step)
    if decision is None:
        return {}
    rows = (await read_step(journal, view, decision)).batch
    return {row.task: row.row.record for row in rows if row.row is not None}


def _chosen(records: dict[str, AttemptRecord], ids: Iterable[str]) -> list[AttemptRecord]:
    there = [records[task] for task in ids if task in records and records[task].summary.strip()]
    return sorted(there, key=lambda record: bool(record.hard))[:PER_EDIT]


def _text(record: AttemptRecord, task: Task, skill: Skill, firewall: Firewall) -> str:
    whole = redact(firewall.outgoing(redact(record.summary), task, "agent"))
    verdict = "invalid" if record.score is None else f"scored {record.score:.2f}"
    return f"{verdict}\n{condensed(whole, TOKENS, skill=skill.text)}"
