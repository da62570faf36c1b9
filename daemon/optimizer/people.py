"""What people turned down is evidence for every later run of the skill: reverts, deletions, closed requests.

Read once, when a run begins, and journaled with it: a resumed run knows what an undisturbed one does, whatever people
did meanwhile. A taken-back edit, or one like it at its place, is refused until the evidence changes: until a train task
asks for it that was not there (or was another) when honed first met the person's act.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from daemon.journal.journal import Journal
from daemon.journal.records import Decision, RunRecord
from daemon.optimizer.firewall import Firewall
from daemon.optimizer.memory import EarlierStep
from daemon.optimizer.proposals import remembered
from daemon.redaction import redact
from daemon.tasks.task import Task
from skills_repo.acts import MOST_COMMITS, Acts, key_of
from skills_repo.edits import Edit
from skills_repo.history import NotCommittedError, SkillHistory
from skills_repo.likeness import Change, brings_back
from skills_repo.message import neutral
from skills_repo.rejected import RejectedEdits

PEOPLE = "people"
"""The kind of the decision that remembers it."""
MOST_TOLD = 20
"""Edits that later reflections read of; all are refused."""
_MAX_REASON = 300


class TakenBack(BaseModel):
    """One of honed's edits that a person turned down."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    """The same for every copy of the edit."""
    edit: Edit
    changes: tuple[Change, ...]
    reason: str
    """In the person's words, neutral; empty if none were given."""
    commit: str
    """Of the edit."""
    by: str = ""
    """The commit that took it back; empty for a closed request."""
    fresh: tuple[str, ...] = ()
    """Train tasks that are new since honed first met it, ordered: one that asks for the edit lets it be tried again."""

    def matches(self, changes: Sequence[Change], evidence: Sequence[str]) -> bool:
        """The change would bring it back, and nothing that is new asks for it."""
        return not set(evidence) & set(self.fresh) and brings_back(changes, self.changes)


class _Record(BaseModel):
    """What a run knew of people when it began."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    taken_back: tuple[TakenBack, ...]
    train: Mapping[str, str]
    """The train tasks then: id, and a mark of prompt and file names."""


@dataclass(frozen=True)
class People:
    """Reads and remembers what people turned down, for one run."""

    journal: Journal
    history: SkillHistory
    firewall: Firewall
    """People's words pass it like anybody's: a reason may quote a held-out task."""
    rejected: RejectedEdits | None = None
    """Where requests that a person closed are kept; None: nowhere."""

    async def of(self, run: RunRecord, train: Sequence[Task]) -> tuple[TakenBack, ...]:
        """What the run knows: read back, or read from git and journaled now."""
        found = await self.journal.find_decision(run.run_id, 0, PEOPLE)
        if found is not None:
            return _Record.model_validate(found.payload).taken_back
        tasks = {task.id: _mark(task) for task in sorted(train, key=lambda one: one.id)}
        taken = await self._read(run.base_commit)
        met = await self._first_met(run) if taken else {}
        known = tuple(one.model_copy(update={"fresh": _new(tasks, met.get((one.key, one.by), tasks))}) for one in taken)
        record = _Record(taken_back=known, train=tasks)
        await self.journal.save_decision(Decision(run.run_id, 0, PEOPLE, record.model_dump(mode="json")))
        return known

    async def _read(self, base: str) -> Sequence[TakenBack]:
        """As the run's base knows it, and HEAD, where people may have taken back copies of honed's commits."""
        acts, lines = Acts(self.history), [base, *await self._head()]
        found = {one.key: one for one in await acts.turned_down(await self._closed(lines[-1]))}
        found |= {one.key: one for one in await acts.taken_back(*lines)}
        if not found:
            return ()
        skill = await self.history.read(base)
        return [
            TakenBack(
                key=one.key,
                edit=one.edit,
                changes=one.changes,
                reason=neutral(redact(self.firewall.remark(one.reason, skill)), _MAX_REASON),
                commit=one.commit.sha,
                by=one.by,
            )
            for one in found.values()
        ]

    async def _head(self) -> Sequence[str]:
        try:
            return [(await self.history.commit("HEAD")).sha]
        except NotCommittedError:  # a bare repository may have the skill's branch alone
            return []

    async def _closed(self, head: str) -> Sequence[tuple[str, str]]:
        """Commits of closed requests, and why; without those that `head` has all the same."""
        kept = [one for one in await self.rejected.all() if one.by == "person"] if self.rejected else []
        taken = {key_of(commit) for commit in await self.history.log(MOST_COMMITS, at=head)} if kept else set()
        rows = [(one, await self.history.commit(one.sha)) for one in kept]
        return [(one.sha, one.reason) for one, commit in rows if key_of(commit) not in taken]

    async def _first_met(self, run: RunRecord) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """By edit and who took it back: the train tasks of the first run that knew of it."""
        found: dict[tuple[str, str], Mapping[str, str]] = {}
        for earlier in await self.journal.find_runs(run.skill):
            decision = await self.journal.find_decision(earlier.run_id, 0, PEOPLE)
            if decision is not None:
                record = _Record.model_validate(decision.payload)
                for one in record.taken_back:
                    found.setdefault((one.key, one.by), record.train)
        return found


def _mark(task: Task) -> str:
    """What makes it another task; a new version of its scorer does not."""
    return hashlib.sha256(json.dumps([task.prompt, sorted(task.files)]).encode()).hexdigest()[:16]


def _new(now: Mapping[str, str], then: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(task for task, digest in now.items() if then.get(task) != digest)


def as_earlier_step(found: tuple[TakenBack, ...]) -> tuple[EarlierStep, ...]:
    """For reflections to read, like a rejected step."""
    if not found:
        return ()
    rows = tuple({**remembered(one.edit), "reason": one.reason or "none given"} for one in found[:MOST_TOLD])
    return (EarlierStep(0, "Taken back by a person", None, None, rows, ()),)
