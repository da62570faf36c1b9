"""A run in many lives: each is a process of its own, killed with SIGKILL, over one journal file and one git repository.

`python -m tests.worlds.lives FOLDER MODE PLAN` prints how many lives it took; the last one leaves `story.json`. PLAN is
`calm`, `boundaries` (each life ends at the first phase that no life before it came to) or `random:SEED`.
The parent forks from a process that has done nothing but import, so that a life starts in milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import structlog

from daemon.journal.sqlite import SqliteJournal
from daemon.rollouts.progress import Event, PhaseStarted, StepDecided
from skills_repo.history import Author
from skills_repo.repository import SkillRepository
from tests.support.optimizer import MortalJournal
from tests.worlds.runs import SKILL
from tests.worlds.stories import TINY, bench

_WHEN = "2026-01-01T00:00:00Z"


def prepare(folder: Path) -> Path:
    """A repository with the skill, the same commit everywhere."""
    root = folder / "repo"
    (root / "skills" / "demo").mkdir(parents=True)
    (root / "skills" / "demo" / "SKILL.md").write_bytes(SKILL.files["SKILL.md"])
    person = {"NAME": "A Person", "EMAIL": "person@example.com", "DATE": _WHEN}
    names = {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in person.items()}
    environment = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for words in ("init -q -b main", "add .", "commit -q -m Start"):
        subprocess.run(["git", *words.split()], cwd=root, env=environment, check=True)
    return root


class Boundaries:
    """An observer that ends its process at the first phase that is not in the file yet."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def notify(self, event: Event) -> None:
        """Die, if it is a new boundary."""
        if isinstance(event, PhaseStarted):
            name = f"{event.step}/{event.phase}/{event.detail}"
        elif isinstance(event, StepDecided):
            name = f"{event.step}/decided"
        else:
            return
        seen = self._file.read_text().splitlines() if self._file.exists() else []
        if name not in seen:
            self._file.write_text("\n".join([*seen, name]))
            os.kill(os.getpid(), signal.SIGKILL)


async def life(folder: Path, mode: str, plan: str) -> None:
    """Run to the end, or to death."""
    made = bench(folder / "attempts", TINY, mode, workers=4, chaos=os.getpid())
    disk = SqliteJournal(folder / "journal.sqlite", clock=lambda: 0.0)
    made.journal = MortalJournal(disk)
    history = SkillRepository(folder / "repo", "skills/demo", author=Author("honed", "honed@localhost"))
    made.history = history
    if plan == "boundaries":
        made.observer = Boundaries(folder / "boundaries")
    if "done" not in [run.state for run in await disk.find_runs()]:  # else it was killed after its last write
        await made.training().run()
    (folder / "story.json").write_text(json.dumps(await tell(disk, history), sort_keys=True))
    await disk.close()


async def tell(journal: SqliteJournal, history: SkillRepository) -> dict[str, Any]:
    """The one run's decisions, and the commits with their messages and trees."""
    [run] = await journal.find_runs()
    decisions = [[d.step, d.kind, d.payload] for d in await journal.decisions(run.run_id)]
    log = await history.log(1_000)
    commits = [[c.sha, c.parents, c.when, c.subject, dict(c.trailers)] for c in log]
    texts = [(await history.read(commit.sha)).text for commit in log]
    return {"run": run.run_id, "state": run.state, "decisions": decisions, "commits": commits, "texts": texts}


def lives(folder: Path, mode: str, plan: str) -> int:
    """Fork lives until one ends by itself; returns how many were killed."""
    dice = random.Random(plan)
    for killed in range(500):
        child = os.fork()
        if not child:
            asyncio.run(life(folder, mode, plan))
            os._exit(0)
        if plan.startswith("random"):
            time.sleep(dice.uniform(0.02, 0.1 * (killed + 2)))  # longer and longer, so that it gets on
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.waitstatus_to_exitcode(status) == 0, "a life ended in an error"
            return killed
    raise AssertionError("it never comes to an end")


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    where = Path(sys.argv[1])
    prepare(where)
    print(lives(where, *sys.argv[2:4]))
