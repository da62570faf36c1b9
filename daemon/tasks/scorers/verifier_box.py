"""The second box that test scripts and command checks run in, which the agent never saw.

It has no way out and a fresh home. It shows the collected workspace as working directory, the tests read-only at
`/tests` and an empty `/logs/verifier`; where an engine shares the host's paths, both are elsewhere and `TESTS_DIR` and
`LOGS_DIR` name them. The environment is made here: nothing of the agent's survives but files, and Python's start-up
hooks and current-directory imports are off, unless a task sets `PYTHONSAFEPATH` to an empty text in its `env`. A task
with an image of its own gets that image's environment instead, since its tests were written for it.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from daemon.tasks.scorers.scorer import Context, Result, VerifierError
from daemon.tasks.staging import stage
from daemon.tasks.task import Task, limits_for
from harnesses.task_script import PATH
from sandboxes.sandbox import VERIFIER_OUT, Box, BoxSpec, Command, Ended, Layout, Mount, Sandbox, SandboxError

TESTS = "/tests"
GRACE_S = 120.0
"""Beyond the commands' own deadlines: after it a sweep may remove the box."""


@dataclass(frozen=True)
class VerifierBox:
    """An open box with the workspace and the tests in it."""

    box: Box
    tests: str
    """Where the tests lie, as seen from inside."""
    env: Mapping[str, str]

    async def run(self, *argv: str, deadline_s: float) -> Ended:
        """Run one command to its end."""
        return await self.box.run(Command(argv=argv, env=self.env, deadline_s=deadline_s))


def sandbox_of(context: Context, scorer: str) -> Sandbox:
    """The context's sandbox; raises `VerifierError` if there is none."""
    if context.sandbox is None:
        msg = f"scorer {scorer} needs a sandbox: run `honed doctor` to see why there is none"
        raise VerifierError(msg)
    return context.sandbox


@asynccontextmanager
async def open_verifier_box(
    task: Task, result: Result, context: Context, env: Mapping[str, str]
) -> AsyncIterator[VerifierBox]:
    """A box over the collected workspace; a sandbox that fails is a `VerifierError`."""
    sandbox = sandbox_of(context, task.scorer.name)
    with tempfile.TemporaryDirectory(prefix="honed-verify-", dir=context.folder, ignore_cleanup_errors=True) as made:
        tests, folder = Path(made) / "tests", Path(made) / "box"
        await asyncio.to_thread(stage, task.tests, tests)
        await asyncio.to_thread(folder.mkdir)
        spec = BoxSpec(
            attempt_id=f"verify-{secrets.token_hex(8)}",
            folder=folder,
            deadline=time.time() + task.verifier_timeout_s + GRACE_S,
            mounts=(Mount(source=tests, target=TESTS),),
            limits=limits_for(task, context.limits),
            role="verifier",
            root=task.root,
        )
        try:
            async with sandbox.open(spec) as box:
                await box.write(result.workspace.files, modes=result.workspace.modes if task.root else None)
                inside = TESTS if box.layout.out == VERIFIER_OUT else str(tests)
                yield VerifierBox(box, inside, _environment(box.layout, inside, task, env))
        except SandboxError as error:
            msg = f"task {task.id}: the verifier's sandbox failed: {error}"
            raise VerifierError(msg) from error


_GIT = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": "/dev/null",
}
"""A script that only asks git about the workspace must not run what the agent wrote into `.git`."""


def _environment(layout: Layout, tests: str, task: Task, env: Mapping[str, str]) -> dict[str, str]:
    return {
        "PATH": PATH,
        "LANG": "C.UTF-8",
        "PYTHONNOUSERSITE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **_GIT,
        **({"PYTHONSAFEPATH": "1", "PYTHONPATH": tests} if task.root is None else task.root.env),
        "HOME": layout.home,
        "TMPDIR": layout.tmp,
        **env,
        "TESTS_DIR": tests,
        "LOGS_DIR": layout.out,
        "WORKSPACE_DIR": layout.workspace,
    }


def tail(file: Path, size: int = 4_000) -> str:
    """The end of a stream, for people alone: it may show gold (blocks)."""
    with file.open("rb") as stream:
        stream.seek(0, 2)
        stream.seek(max(0, stream.tell() - size))
        return stream.read().decode("utf-8", "replace")
