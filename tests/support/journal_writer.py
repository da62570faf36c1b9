"""A process that writes attempts until it is killed, saying each id once it is durable.

Run as `python -m tests.support.journal_writer <file>`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from daemon.journal.sqlite import SqliteJournal
from tests.support.journal import a_key, a_record, a_run


async def main(path: Path) -> None:
    """Plan and finish attempts for ever, telling the parent after each call."""
    journal = SqliteJournal(path)
    run_id = f"r-{os.getpid()}"
    await journal.open_run(a_run(run_id))
    number = 0
    while True:
        attempt_id, key = f"{run_id}-{number}", a_key(trial=number)
        await journal.plan_attempt(attempt_id, run_id, "t-1", key)
        print("planned", attempt_id, flush=True)
        await journal.finish_attempt(a_record(attempt_id, key, summary="x" * (number % 7) * 997))
        print("finished", attempt_id, flush=True)
        number += 1


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
