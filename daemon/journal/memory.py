"""The journal in memory: a fake that keeps the promises of the real one, apart from outliving its process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from daemon.journal.journal import JournalError
from daemon.journal.records import (
    AttemptKey,
    AttemptRecord,
    AttemptRow,
    Decision,
    ReplyRecord,
    RunRecord,
    Span,
    Spent,
)
from daemon.journal.rows import END_STATES, decode_record, encode, encode_record, key_from, same_row


@dataclass
class _Attempt:
    run_id: str
    task_id: str
    key: str
    parts: str
    planned: float
    at: float
    state: str = "planned"
    record: str = ""

    def spent(self) -> Spent:
        """As budgets and estimates see it."""
        key = key_from(self.parts)
        record = decode_record(self.record) if self.record else None
        return Spent(
            "target",
            key.harness,
            key.settings.get("model", ""),
            record.usage if record else None,
            record.wall_s if record else 0.0,
            scored=record is not None and record.score is not None,
        )


@dataclass(frozen=True)
class _Reply:
    text: str
    at: float

    def spent(self) -> Spent:
        """As budgets and estimates see it."""
        reply = json.loads(self.text)
        return Spent("optimizer", "", reply.get("model", ""), reply["usage"], 0.0, scored=False)


class MemoryJournal:
    """The `Journal` protocol on dictionaries; values pass through JSON as in the real one."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._runs: dict[str, RunRecord] = {}
        self._attempts: dict[str, _Attempt] = {}
        self._finished: list[str] = []
        self._scored: dict[str, str] = {}
        """Key to the attempt that was scored first."""
        self._replies: dict[tuple[str, str, str], _Reply] = {}
        self._decisions: dict[tuple[str, int, str], str] = {}
        self._all_spans: list[Span] = []
        self._spans: dict[str, int] = {}
        self._closed = False

    async def find_open_run(self, skill: str, fingerprint: str) -> RunRecord | None:
        """The unfinished run to resume, if any: the newest."""
        runs = [run for run in await self.find_runs(skill) if (run.fingerprint, run.state) == (fingerprint, "open")]
        return runs[-1] if runs else None

    async def find_runs(self, skill: str | None = None) -> tuple[RunRecord, ...]:
        """All runs, oldest first."""
        self._check_open()
        return tuple(run for run in self._runs.values() if skill in (None, run.skill))

    async def open_run(self, run: RunRecord) -> None:
        """Write a new run."""
        self._check_open()
        if run.state != "open":
            raise JournalError(f"run {run.run_id} starts as {run.state!r}, not as 'open'")
        if run.run_id in self._runs:
            raise JournalError(f"run {run.run_id} is in the journal already")
        self._runs[run.run_id] = run

    async def end_run(self, run_id: str, state: str) -> None:
        """Mark `done` or `failed`; saying the same twice is no error."""
        if state not in END_STATES:
            raise JournalError(f"a run ends as one of {', '.join(END_STATES)}, not as {state!r}")
        run = self._run(run_id)
        if run.state not in ("open", state):
            raise JournalError(f"run {run_id} has ended already, and not as {state!r}")
        self._runs[run_id] = replace(run, state=state)

    async def plan_attempt(self, attempt_id: str, run_id: str, task_id: str, key: AttemptKey) -> None:
        """Say what is about to be done, before it is."""
        self._run(run_id)
        if attempt_id in self._attempts:
            raise JournalError(f"attempt {attempt_id} is in the journal already")
        parts = encode(asdict(key), f"attempt {attempt_id}")
        self._attempts[attempt_id] = _Attempt(run_id, task_id, key.digest, parts, self._clock(), self._clock())
        self._seen(run_id)

    async def finish_attempt(self, record: AttemptRecord) -> None:
        """Write the result; a scored one is found by its key from then on. The same result twice is no error."""
        self._check_open()
        text = encode_record(record)
        attempt = self._attempts.get(record.attempt_id)
        if attempt is not None and attempt.state == "finished":
            same_row(attempt.record, text, f"attempt {record.attempt_id}")
            return
        if attempt is None or attempt.state != "planned":
            state = "not planned" if attempt is None else attempt.state
            raise JournalError(f"attempt {record.attempt_id} is {state}: it cannot be finished")
        if (attempt.key, attempt.task_id) != (record.key, record.task_id):
            raise JournalError(f"attempt {record.attempt_id} was planned for another task or with another key")
        attempt.state, attempt.record, attempt.at = "finished", text, self._clock()
        self._finished.append(record.attempt_id)
        if record.score is not None:
            self._scored.setdefault(record.key, record.attempt_id)
        self._seen(attempt.run_id)

    async def find_scored(self, key: AttemptKey) -> AttemptRecord | None:
        """The valid result of equal content that was finished first. Invalid attempts are never found."""
        self._check_open()
        attempt_id = self._scored.get(key.digest)
        return None if attempt_id is None else decode_record(self._attempts[attempt_id].record)

    async def attempts(self, run_id: str) -> tuple[AttemptRecord, ...]:
        """Every finished attempt planned under a run, in order of planning."""
        self._check_open()
        rows = [row for row in self._attempts.values() if row.run_id == run_id and row.state == "finished"]
        return tuple(decode_record(row.record) for row in rows)

    async def attempt_rows(
        self, *, run_id: str | None = None, skill_digest: str | None = None
    ) -> tuple[AttemptRow, ...]:
        """Finished attempts with their keys, in order of finishing: of a run, under a skill, or both."""
        self._check_open()
        found = [self._attempts[attempt_id] for attempt_id in self._finished]
        rows = [AttemptRow(row.run_id, key_from(row.parts), decode_record(row.record), row.planned) for row in found]
        return tuple(
            row for row in rows if run_id in (None, row.run_id) and skill_digest in (None, row.key.skill_digest)
        )

    async def unfinished_attempts(self, *, of_ended_runs: bool = False) -> tuple[str, ...]:
        """Ids planned but not finished, in order of planning."""
        self._check_open()
        return tuple(
            attempt_id
            for attempt_id, row in self._attempts.items()
            if row.state == "planned" and not (of_ended_runs and self._runs[row.run_id].state == "open")
        )

    async def abandon_attempts(self, attempt_ids: tuple[str, ...]) -> None:
        """Mark unfinished attempts as abandoned; finished and unknown ones are left as they are."""
        self._check_open()
        for attempt_id in attempt_ids:
            row = self._attempts.get(attempt_id)
            if row is not None and row.state == "planned":
                row.state = "abandoned"

    async def find_reply(self, run_id: str, place: str, prompt_digest: str) -> dict[str, Any] | None:
        """The optimizer's reply at a place to exactly this prompt, if it was paid for."""
        self._check_open()
        found = self._replies.get((run_id, place, prompt_digest))
        return None if found is None else dict(json.loads(found.text))

    async def save_reply(self, run_id: str, place: str, prompt_digest: str, reply: dict[str, Any]) -> None:
        """Write a reply before it is used; the same again is no error, another one to the same prompt is."""
        self._run(run_id)
        text = encode(reply, f"the reply at {place}")
        row = self._replies.setdefault((run_id, place, prompt_digest), _Reply(text, self._clock()))
        same_row(row.text, text, f"the reply at {place}")
        self._seen(run_id)

    async def replies(self, run_id: str) -> tuple[ReplyRecord, ...]:
        """Every reply of a run, in order of writing."""
        self._check_open()
        rows = [(key, json.loads(reply.text)) for key, reply in self._replies.items() if key[0] == run_id]
        return tuple(ReplyRecord(place, digest, reply) for (_, place, digest), reply in rows)

    async def find_decision(self, run_id: str, step: int, kind: str) -> Decision | None:
        """What was decided, if it was."""
        self._check_open()
        text = self._decisions.get((run_id, step, kind))
        return None if text is None else Decision(run_id, step, kind, json.loads(text))

    async def save_decision(self, decision: Decision) -> None:
        """Write a decision; the same again is no error, another one at its place is."""
        self._run(decision.run_id)
        what = f"the decision {decision.kind!r} of step {decision.step}"
        text = encode(dict(decision.payload), what)
        same_row(self._decisions.setdefault((decision.run_id, decision.step, decision.kind), text), text, what)
        self._seen(decision.run_id)

    async def decisions(self, run_id: str) -> tuple[Decision, ...]:
        """All decisions of a run by step, within a step in order of writing."""
        self._check_open()
        rows = sorted((key for key in self._decisions if key[0] == run_id), key=lambda key: key[1])
        return tuple(Decision(*key, json.loads(self._decisions[key])) for key in rows)

    async def spent(
        self, *, run_id: str | None = None, since: float | None = None, newest: int | None = None
    ) -> tuple[Spent, ...]:
        """What was paid: attempts, then replies, in order of beginning."""
        self._check_open()
        attempts = [
            row.spent() for row in self._attempts.values() if run_id in (None, row.run_id) and _in(row.at, since)
        ]
        replies = [
            reply.spent()
            for (run, _, _), reply in self._replies.items()
            if run_id in (None, run) and _in(reply.at, since)
        ]
        return tuple(row for rows in (attempts, replies) for row in (rows if newest is None else rows[-newest:]))

    async def begin_span(self, run_id: str) -> None:
        """Say that this process works on a run from now on: its later rows then also say until when it did."""
        self._run(run_id)
        self._spans[run_id] = len(self._all_spans)
        self._all_spans.append(Span(run_id, self._clock(), self._clock()))

    async def spans(self, *, run_id: str | None = None, since: float | None = None) -> tuple[Span, ...]:
        """Who worked when, in order: on one run or on all; those that ended before a Unix time are left out."""
        self._check_open()
        return tuple(span for span in self._all_spans if run_id in (None, span.run_id) and _in(span.seen, since))

    async def tidy(self) -> int:
        """There is no disk."""
        self._check_open()
        return 0

    async def close(self) -> None:
        """Nothing can be read or written from then on."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise JournalError("the journal in memory is closed")

    def _seen(self, run_id: str) -> None:
        if run_id in self._spans:
            number = self._spans[run_id]
            span = self._all_spans[number]
            self._all_spans[number] = replace(span, seen=max(span.seen, self._clock()))

    def _run(self, run_id: str) -> RunRecord:
        self._check_open()
        if run_id not in self._runs:
            raise JournalError(f"run {run_id} is not in the journal")
        return self._runs[run_id]


def _in(at: float, since: float | None) -> bool:
    return since is None or at >= since
