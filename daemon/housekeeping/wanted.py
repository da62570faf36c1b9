"""Which attempts' folders may still be wanted, from the journal: asked only where something would be done to one.

No run reads a folder again but to score an attempt that had ended (its receipt); the folders of an open run's undecided
step are spared for the people who look at it.
"""

from __future__ import annotations

import math

from daemon.journal.journal import Journal
from daemon.optimizer.scoring_run import trains


async def wanted_attempts(journal: Journal) -> frozenset[str]:
    """Attempts that are not finished, and those of open runs since their last decision."""
    wanted = set(await journal.unfinished_attempts())
    for run in await journal.find_runs():
        if run.state == "open" and trains(run):
            decided = [float(one.payload.get("when", -math.inf)) for one in await journal.decisions(run.run_id)]
            since = max(decided, default=-math.inf)
            rows = await journal.attempt_rows(run_id=run.run_id)
            wanted |= {row.record.attempt_id for row in rows if row.planned is not None and row.planned >= since}
    return frozenset(wanted)
