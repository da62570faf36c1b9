"""Keeps a state folder bounded: one function for `train`, the daemon and `honed clean`.

Cheap where there is nothing to do: folders are looked at, and the journal is asked no more than for its free pages.
Invariant: what cannot be done is said and stops nothing else; doing it again does the rest.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from daemon.config_retention import RetentionSection
from daemon.housekeeping import folders
from daemon.housekeeping.leftovers import old_scratch, remove_scratch, unused_images
from daemon.housekeeping.plan import Pack, Prune, plan
from daemon.housekeeping.wanted import wanted_attempts
from daemon.journal.journal import Journal, JournalError

log = structlog.get_logger(__name__)

_ROUNDS = 3
"""Compress, see what that saved, remove."""
_BATCH = 200
"""Folders of one kind in one call: the next call goes on."""


@dataclass
class Report:
    """What was done, or with `dry` would be."""

    packed: list[str] = field(default_factory=list)
    """Attempts whose folder is compressed now."""
    pruned: dict[str, str] = field(default_factory=dict)
    """Attempts whose folder is gone now, and why: `age` or `size`."""
    scratch: list[str] = field(default_factory=list)
    """Other paths that are gone now, relative to the state folder."""
    attempts_before: int = 0
    """Bytes of all attempts' folders together; likewise `attempts_after`."""
    attempts_after: int = 0
    journal_freed: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def nothing(self) -> bool:
        """There was nothing to do."""
        return not (self.packed or self.pruned or self.scratch or self.journal_freed or self.problems)


async def keep_house(
    state: Path,
    retention: RetentionSection,
    now: float,
    *,
    journal: Journal,
    alone: bool = False,
    dry: bool = False,
) -> Report:
    """Compress, remove, tidy. `now` is Unix time. What is under way is spared, for the journal names it.

    `alone`: nothing is under way at all, so that copies out of tasks' images may go, too. `dry`: only tell.
    """
    house = _House(state, retention, now, journal, alone=alone, dry=dry)
    await house.scratch()
    await house.attempts()
    if not dry:
        await house.tidy()
    if not (dry or house.report.nothing):
        _say(house.report)
    return house.report


@dataclass
class _House:
    """One round through a state folder."""

    state: Path
    retention: RetentionSection
    now: float
    journal: Journal
    alone: bool
    dry: bool
    report: Report = field(default_factory=Report)

    async def scratch(self) -> None:
        """What outlived its use."""
        try:
            paths = await asyncio.to_thread(old_scratch, self.state, self.now)
            if self.alone:
                days = self.retention.attempts_days
                paths += await asyncio.to_thread(unused_images, self.state, self.now, days)
        except OSError as error:
            self._fault(error)
            return
        self.report.scratch += [str(path.relative_to(self.state)) for path in paths]
        if not self.dry:
            self.report.problems += await asyncio.to_thread(remove_scratch, paths)

    async def attempts(self) -> None:
        """What attempts left. The journal is asked only where something is to be done."""
        wanted: frozenset[str] | None = None
        failed: set[str] = set()
        for number in range(_ROUNDS):
            try:
                kept = await asyncio.to_thread(folders.kept_in, self.folder, clear=not self.dry)
            except OSError as error:
                self._fault(error)
                return
            self.report.attempts_after = sum(one.size for one in kept)
            if number == 0:
                self.report.attempts_before = self.report.attempts_after
            if not plan(kept, self.retention, self.now, spared=failed):
                return
            wanted = await wanted_attempts(self.journal) if wanted is None else wanted
            for action in plan(kept, self.retention, self.now, spared=failed, wanted=wanted)[:_BATCH]:
                failed |= await self._do(action)
            if self.dry:
                return  # what compressing would save is not known

    async def tidy(self) -> None:
        """The journal's file."""
        try:
            self.report.journal_freed = await self.journal.tidy()
        except JournalError as error:
            self.report.problems.append(str(error))

    @property
    def folder(self) -> Path:
        """Where attempts' folders are."""
        return self.state / "attempts"

    async def _do(self, action: Pack | Prune) -> set[str]:
        """Do one thing; returns its attempt if it could not be done."""
        work = folders.pack if isinstance(action, Pack) else folders.prune
        problem = "" if self.dry else await asyncio.to_thread(work, self.folder, action.attempt_id)
        if problem:
            self.report.problems.append(problem)
            return {action.attempt_id}
        if isinstance(action, Prune):
            self.report.pruned[action.attempt_id] = action.why
        else:
            self.report.packed.append(action.attempt_id)
        return set()

    def _fault(self, error: OSError) -> None:
        self.report.problems.append(f"{error.filename or self.state}: {error.strerror}")


def _say(report: Report) -> None:
    say = log.warning if report.problems else log.info
    say(
        "housekeeping",
        packed=len(report.packed),
        pruned=len(report.pruned),
        scratch=len(report.scratch),
        attempts_mb=report.attempts_after >> 20,
        journal_freed=report.journal_freed,
        problems=report.problems,
    )
