"""The `Journal` seam; the real one is `sqlite.py` (WAL), the fake a dictionary in `memory.py`.

Invariant: a row is durable before its caller goes on. Attempt rows are planned before any side effect.
"""

from __future__ import annotations

from typing import Any, Protocol

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


class JournalError(Exception):
    """The journal cannot be read or written; `str()` names the file and the remedy."""


class Journal(Protocol):
    """Durable memory of one state directory."""

    async def find_open_run(self, skill: str, fingerprint: str) -> RunRecord | None:
        """The unfinished run to resume, if any."""

    async def find_runs(self, skill: str | None = None) -> tuple[RunRecord, ...]:
        """All runs, oldest first."""

    async def open_run(self, run: RunRecord) -> None:
        """Write a new run."""

    async def end_run(self, run_id: str, state: str) -> None:
        """Mark `done` or `failed`."""

    async def plan_attempt(self, attempt_id: str, run_id: str, task_id: str, key: AttemptKey) -> None:
        """Say what is about to be done, before it is."""

    async def finish_attempt(self, record: AttemptRecord) -> None:
        """Write the result; a scored one is found by its key from then on."""

    async def find_scored(self, key: AttemptKey) -> AttemptRecord | None:
        """The valid result of equal content, if there is one. Invalid attempts are never found."""

    async def attempts(self, run_id: str) -> tuple[AttemptRecord, ...]:
        """Every finished attempt planned under a run, in order of planning."""

    async def attempt_rows(
        self, *, run_id: str | None = None, skill_digest: str | None = None
    ) -> tuple[AttemptRow, ...]:
        """Finished attempts with their keys, in order of finishing: of a run, under a skill, or both."""

    async def unfinished_attempts(self, *, of_ended_runs: bool = False) -> tuple[str, ...]:
        """Ids planned but not finished: what a dead process left; all, or those whose run has ended."""

    async def abandon_attempts(self, attempt_ids: tuple[str, ...]) -> None:
        """Mark unfinished attempts of a dead process as abandoned (never scored, free to be run anew)."""

    async def find_reply(self, run_id: str, place: str, prompt_digest: str) -> dict[str, Any] | None:
        """The optimizer's reply at a place (`step/phase/ordinal`) to exactly this prompt, if it was paid for."""

    async def save_reply(self, run_id: str, place: str, prompt_digest: str, reply: dict[str, Any]) -> None:
        """Write a reply before it is used."""

    async def replies(self, run_id: str) -> tuple[ReplyRecord, ...]:
        """Every reply of a run, in order of writing."""

    async def find_decision(self, run_id: str, step: int, kind: str) -> Decision | None:
        """What was decided, if it was."""

    async def save_decision(self, decision: Decision) -> None:
        """Write a decision; writing the same one again is no error, another one at its place raises `JournalError`."""

    async def decisions(self, run_id: str) -> tuple[Decision, ...]:
        """All decisions of a run by step."""

    async def spent(
        self, *, run_id: str | None = None, since: float | None = None, newest: int | None = None
    ) -> tuple[Spent, ...]:
        """What was paid: attempts, then replies, in order of beginning.

        Of one run or of all; since a Unix time (rows without a time are left out then); at most the `newest` of each.
        """

    async def begin_span(self, run_id: str) -> None:
        """Say that this process works on a run from now on: its later rows then also say until when it did."""

    async def spans(self, *, run_id: str | None = None, since: float | None = None) -> tuple[Span, ...]:
        """Who worked when, in order: on one run or on all; those that ended before a Unix time are left out."""

    async def tidy(self) -> int:
        """Give room that is not needed back to the disk; returns the bytes. Quick where there is nothing to do."""

    async def close(self) -> None:
        """Close the file."""
