"""Which run is meant: `latest`, or the beginning of an id."""

from __future__ import annotations

from daemon.journal.journal import Journal, JournalError
from daemon.journal.records import RunRecord
from daemon.optimizer.scoring_run import trains

LATEST = "latest"


async def find_run(journal: Journal, name: str, skill: str) -> RunRecord:
    """The run of that name; `latest` is the newest training of `skill`. Raises `JournalError` with what there is."""
    runs = await journal.find_runs()
    if name == LATEST:
        trainings = [run for run in runs if run.skill == skill and trains(run)]
        if not trainings:
            msg = f"the journal has no training of {skill} (run `honed train` first)"
            raise JournalError(msg)
        return trainings[-1]
    found = [run for run in runs if name and run.run_id.startswith(name)]
    exact = [run for run in found if run.run_id == name]
    if len(found) > 1 and not exact:
        msg = f"{name} is the beginning of {len(found)} runs: {_some(found)}: give more of it"
        raise JournalError(msg)
    if not found:
        known = f"the newest are {_some(runs[::-1])}" if runs else "there is none (run `honed train` first)"
        msg = f"no run begins with {name}: {known}"
        raise JournalError(msg)
    return (exact or found)[0]


def _some(runs: tuple[RunRecord, ...] | list[RunRecord]) -> str:
    return ", ".join(run.run_id for run in runs[:5])
