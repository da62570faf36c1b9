"""Runs of their own for what scores a skill as it stands: nothing is learned, and nobody goes on with them.

Invariant: a run that was opened is ended, `done` or `failed`.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from daemon.budget.purse import Purse
from daemon.journal.journal import Journal
from daemon.journal.records import RunRecord

EVALUATION = "eval "
"""The fingerprint of an evaluation begins so, the split follows."""
CALIBRATION = "calibrate"
"""The fingerprint of a calibration."""


def trains(run: RunRecord) -> bool:
    """It is a training; all others score a skill as it stands."""
    return run.fingerprint != CALIBRATION and not run.fingerprint.startswith(EVALUATION)


@asynccontextmanager
async def scoring_run(
    journal: Journal, fingerprint: str, skill: str, commit: str = "", *, purse: Purse | None = None
) -> AsyncIterator[str]:
    """The id of a new run over `skill` (its key in the journal) at `commit`, open to the purse as well."""
    run_id = f"{'c' if fingerprint == CALIBRATION else 'e'}{uuid.uuid4().hex[:12]}"
    await journal.open_run(RunRecord(run_id, fingerprint, skill, commit, "open", time.time()))
    try:
        if purse is not None:
            await purse.begin_run(run_id)
        yield run_id
    except BaseException:
        await journal.end_run(run_id, "failed")
        raise
    await journal.end_run(run_id, "done")
