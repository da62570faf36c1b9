"""How a run is said to have ended that did not come to its end: whatever began is told to have ended, too."""

from __future__ import annotations

import asyncio

from daemon.budget.reached import BudgetReached
from daemon.rollouts.progress import RunEnded


def broken_off(run_id: str, error: BaseException) -> RunEnded:
    """What is told of a run that this was raised in; it stays open, and goes on later.

    `stopped` is what somebody asked for: a budget, or an end at once. All else is a failure, a fault of honed's too.
    """
    if isinstance(error, asyncio.CancelledError):
        return RunEnded(run_id, "stopped", "stopped at once")
    reason = " ".join(str(error).split()) or type(error).__name__
    return RunEnded(run_id, "stopped" if isinstance(error, BudgetReached) else "failed", reason)
