"""A task's own solution, run in a sandbox as an agent's attempt is: what it leaves is scored like any agent's work."""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from daemon.tasks.staging import stage
from daemon.tasks.task import SOLVE, Task, limits_for
from harnesses.task_script import bash, run_setup
from sandboxes.sandbox import Box, BoxSpec, Carried, Collected, Ended, Limits, Mount, Sandbox

SOLUTION = "/solution"
_GRACE_S = 120.0


@dataclass(frozen=True)
class Try:
    """How to run a solution, or nothing in its place."""

    sandbox: Sandbox
    limits: Limits
    folder: Path
    """A host folder that is not there yet, or is empty."""
    carried: Carried | None = None
    """The workspace of an earlier step."""
    setup: str = ""
    """The task's script that is run first; empty: none."""
    solves: bool = True

    @property
    def box(self) -> Path:
        """The box's own folder."""
        return self.folder / "box"

    async def run(self, task: Task) -> tuple[Ended | None, Collected, str]:
        """What became of the solution (None: it was not run), what is left, and the end of what it complained of.

        Raises `SandboxError`, and `SetupError` where the task's own script fails.
        """
        staged = self.folder / "solution"
        await asyncio.to_thread(_stage, task if self.solves else None, staged)
        spec = BoxSpec(
            attempt_id=f"prove-{secrets.token_hex(8)}",
            folder=self.box,
            deadline=time.time() + 2 * task.timeout_s + _GRACE_S,
            mounts=(Mount(staged, SOLUTION),) if self.solves else (),
            limits=limits_for(task, self.limits),
            root=task.root,
            carried=self.carried,
        )
        async with self.sandbox.open(spec) as box:
            await box.write(await asyncio.to_thread(task.file_bytes))
            if self.setup:
                await run_setup(box, self.setup, task.root, task.timeout_s)
            ended = await self._solve(box, task, staged) if self.solves else None
            left = await box.collect()
        return ended, left, await asyncio.to_thread(_end_of, ended)

    async def _solve(self, box: Box, task: Task, staged: Path) -> Ended:
        inside = SOLUTION if box.layout.out == "/out" else str(staged)
        return await box.run(bash(f"{inside}/{SOLVE}", box.layout, task.root, task.timeout_s))


def _stage(task: Task | None, folder: Path) -> None:
    folder.parent.mkdir(exist_ok=True)
    if task is not None:
        stage(task.solution, folder)


def _end_of(ended: Ended | None) -> str:
    tail = ended.stderr.read_bytes()[-160:].decode("utf-8", "replace").strip() if ended else ""
    return f", stderr ends: {tail!r}" if tail else ""
