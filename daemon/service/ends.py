"""How a job ends, as a table: what is tried again, when, and what needs a person.

Invariants: a failure of a provider, the engine, the disk or the repository never ends a job for good, it waits; what
only a person can change ends it, and the change is the next job's cause.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass

from daemon.budget.reached import BudgetReached
from daemon.circuit.effects import ENGINE, PROVIDER, Effect
from daemon.circuit.probe import outcome_of
from daemon.config import ConfigError
from daemon.jobs.job import JobState
from daemon.journal.journal import JournalError
from daemon.journal.lock import StateBusyError
from daemon.rollouts.stop import DiskFull, RunStopped
from daemon.service.leash import Drained, Leash
from daemon.setup.errors import SetupError
from daemon.tasks.task import TaskError
from harnesses.clis import CliError
from sandboxes.gateway.policy import ProviderError
from sandboxes.sandbox import SandboxError
from skills_repo.history import RefMovedError, RepositoryError
from skills_repo.skill import SkillError

DAY_S = 86_400


@dataclass(frozen=True)
class JobEnd:
    """What came of one beginning of a job."""

    state: JobState
    """`queued`: it is begun again, not before `not_before`."""
    reason: str
    not_before: float = 0.0
    trouble: str = ""
    """The name under which the status tells it until it is mended; empty: it is none."""
    run_id: str = ""
    accepted: int | None = None
    score: float | None = None
    tasks: int = 0
    branch: str = ""
    """Short name of the branch that a finished run wrote to."""
    commits: tuple[str, ...] = ()
    error: str = ""
    """Kind of the error that it ended or waits for (`daemon/kinds.py`); empty without one."""
    fault: bool = False
    """Of honed's own: logged with its traceback."""


@dataclass(frozen=True)
class Again:
    """When it is tried again: the wait doubles from the first to the longest."""

    trouble: str
    first_s: float
    longest_s: float
    most: int | None = None
    """Tries after which a person has to look; None: it goes on for as long as it takes."""


_ENGINE = Again("engine", 5, 300)
_ROWS: tuple[tuple[type[BaseException], Again], ...] = (
    (StateBusyError, Again("state folder", 5, 60)),
    (JournalError, Again("journal", 10, 600)),
    (SandboxError, _ENGINE),
    (SetupError, Again("setup", 30, 1800)),
    (CliError, Again("setup", 30, 1800)),
    (RepositoryError, Again("repository", 10, 600)),
    (ProviderError, Again("provider", 1, 60)),
)
"""First match by type; a subclass stands above its base."""
_MOVED = Again("", 1, 60, most=20)
_STOPPED = Again("run", 30, 3600, most=6)
_PROVIDER = Again("provider", 1, 60)
"""Short: the provider's circuit decides when it is asked again."""
_DISK = Again("disk", 15, 600)
_FOLDER = Again("state folder", 10, 600)
"""Read-only, or of a disk that fails: it is tried until somebody has mended it."""
_FAULT = Again("honed", 30, 600, most=3)
_FAILURES = (Effect.FAILED, Effect.REFUSED)
_OTHERS = (_STOPPED, _PROVIDER, _FOLDER, _FAULT)
OF_RUNS = frozenset({row.trouble for row in (*(row for _, row in _ROWS), *_OTHERS)} | {"configuration", "input"})
"""Troubles that a run which came to its end has proved to be over. The disk's is for whoever looks at it."""
BEFORE_PAYING = frozenset({"setup", "repository", "configuration", "input", "provider"})
"""Those that a run has shown to be over once its preflight is answered: everything that stands before it was read."""
BY_ATTEMPTS = frozenset({"engine", "journal", "state folder"})
"""Likewise by an attempt that is scored: its box ran, and its rows and files were written."""
_FOR_A_PERSON = (ConfigError, TaskError, SkillError)


def end_of(error: BaseException, leash: Leash, tries: int, now: float) -> JobEnd:
    """The end for what a run raised; `tries`: how often the job was begun, this time among them."""
    said = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, Drained):
        return JobEnd("cancelled" if leash.pulled == "cancel" else "queued", said)
    if isinstance(error, BudgetReached):
        if error.scope == "day":
            return JobEnd("queued", said, (now // DAY_S + 1) * DAY_S)
        return JobEnd("failed", said)
    if isinstance(error, _FOR_A_PERSON):
        return JobEnd("failed", said, trouble="configuration" if isinstance(error, ConfigError) else "input")
    row, fault = _row(error)
    if row.most is not None and tries >= row.most:
        return JobEnd("failed", f"{said} ({tries} tries)", trouble=row.trouble, fault=fault)
    wait = min(row.first_s * 2.0 ** min(tries - 1, 30), row.longest_s)
    return JobEnd("queued", said, now + wait, row.trouble, fault=fault)


def _row(error: BaseException) -> tuple[Again, bool]:
    """When to try again, and whether it is a fault of ours."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _DISK, False
    if isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EIO):
        return _FOLDER, False
    if isinstance(error, RunStopped):
        return _row_of_stop(error), False
    for kind, row in _ROWS:
        if isinstance(error, kind):
            return row, False
    return _FAULT, True


def _row_of_stop(stop: RunStopped) -> Again:
    if isinstance(stop.__cause__, RefMovedError):
        return _MOVED
    if isinstance(stop, DiskFull):
        return _DISK
    outcome = outcome_of(stop)
    if outcome is None:
        return _STOPPED
    if ENGINE[outcome] in _FAILURES:
        return _ENGINE
    return _PROVIDER if PROVIDER[outcome] in _FAILURES else _STOPPED
