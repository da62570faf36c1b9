"""`test_script`: the task's `tests/test.sh`, run in a second box that the agent never saw (Harbor's contract).

The box has no way out and a fresh home. It shows the collected workspace as working directory, the tests read-only at
`/tests` and an empty `/logs/verifier` for the reward; where an engine shares the host's paths, both are elsewhere and
the script finds them in `TESTS_DIR` and `LOGS_DIR`. The environment is made here: nothing of the agent's survives but
files, and Python's start-up hooks and current-directory imports are off: helper modules belong at the top of the
tests, or the task sets `PYTHONSAFEPATH` to an empty text in its `env`.

Limits: a script that runs the agent's code gives it its own rights, so that code can write the reward as well. Such a
script must write the reward itself, last; what still runs when it ends dies with the box.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field

from daemon.tasks.scorers.reward import failed_checks, read_reward
from daemon.tasks.scorers.scorer import Context, Options, Result, Scorer, ScorerKind, VerifierError
from daemon.tasks.task import Score, Task
from sandboxes.sandbox import (
    VERIFIER_OUT,
    BoxSpec,
    Collected,
    Command,
    Ended,
    Ending,
    Layout,
    Limits,
    Mount,
    Sandbox,
    SandboxError,
)

TESTS = "/tests"
SCRIPT = "test.sh"
GRACE_S = 120.0
"""Beyond the script's own deadline: after it a sweep may remove the box."""
FEEDBACK_CHARS = 2_000
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

EnvironmentName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class ScriptOptions(Options):
    """Options of `test_script`."""

    env: dict[EnvironmentName, str] = Field(default_factory=dict)
    """Further variables for the script."""
    pass_at: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    """The task counts as solved from this reward on."""
    deadline_fails: bool = False
    """True: a script that runs out of time means that the agent's work hangs: score 0 instead of invalid."""
    feedback_file: str | None = Field(default=None, pattern=r"^[A-Za-z0-9._-]+$")
    """A file in `/logs/verifier` whose text the optimizer may read; the script's author answers for its content."""
    docker_image: str | None = None
    """Recorded from a Harbor task, and not used in this version."""


class ScriptScorer:
    """Runs the task's test script."""

    def __init__(self, options: ScriptOptions, sandbox: Sandbox, folder: Path | None, limits: Limits) -> None:
        self._options = options
        self._sandbox = sandbox
        self._folder = folder
        self._limits = limits

    async def score(self, task: Task, result: Result) -> Score:
        """Run the script over the collected workspace; raises `VerifierError` unless it gave a valid reward."""
        with tempfile.TemporaryDirectory(prefix="honed-verify-", dir=self._folder, ignore_cleanup_errors=True) as made:
            try:
                ended, out = await self._run(task, result, Path(made))
            except SandboxError as error:
                msg = f"task {task.id}: the verifier's sandbox failed: {error}"
                raise VerifierError(msg) from error
            if ended.ending is Ending.DEADLINE and self._options.deadline_fails:
                return Score(value=0.0, hard=False, feedback="the checks ran out of time on what the agent left")
            return self._score(task, ended, out, await asyncio.to_thread(_tails, ended))

    async def _run(self, task: Task, result: Result, scratch: Path) -> tuple[Ended, Collected]:
        tests, folder = scratch / "tests", scratch / "box"
        await asyncio.to_thread(_stage, task.tests, tests, folder)
        spec = BoxSpec(
            attempt_id=f"verify-{secrets.token_hex(8)}",
            folder=folder,
            deadline=time.time() + task.verifier_timeout_s + GRACE_S,
            mounts=(Mount(source=tests, target=TESTS),),
            limits=self._limits,
            role="verifier",
        )
        async with self._sandbox.open(spec) as box:
            await box.write(result.workspace.files)
            ended = await box.run(self._command(task, box.layout, tests))
            return ended, await box.collect(room="out")

    def _command(self, task: Task, layout: Layout, staged: Path) -> Command:
        tests = TESTS if layout.out == VERIFIER_OUT else str(staged)
        env = {
            "PATH": _PATH,
            "HOME": layout.home,
            "TMPDIR": layout.tmp,
            "LANG": "C.UTF-8",
            "PYTHONSAFEPATH": "1",
            "PYTHONPATH": tests,
            "PYTHONNOUSERSITE": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            **self._options.env,
            "TESTS_DIR": tests,
            "LOGS_DIR": layout.out,
            "WORKSPACE_DIR": layout.workspace,
        }
        argv = ("bash", "--noprofile", "--norc", f"{tests}/{SCRIPT}")
        return Command(argv=argv, env=env, deadline_s=task.verifier_timeout_s)

    def _score(self, task: Task, ended: Ended, out: Collected, tails: Mapping[str, str]) -> Score:
        if ended.ending is not Ending.EXITED:
            msg = f"task {task.id}: the test script ended by {ended.ending.value} {ended.detail}".rstrip()
            raise VerifierError(msg)
        try:
            value, source = read_reward(out)
        except VerifierError as error:
            msg = f"task {task.id}: {error} (exit code {ended.exit_code}; stderr ends: {tails['stderr'][-300:]!r})"
            raise VerifierError(msg) from error
        hard = value >= self._options.pass_at
        return Score(
            value=value,
            hard=hard,
            feedback="" if hard else self._feedback(out),
            detail={"exit_code": ended.exit_code, "reward_file": source, "wall_s": ended.wall_s, **tails},
        )

    def _feedback(self, out: Collected) -> str:
        name = self._options.feedback_file
        if name is not None and out.files.get(name):
            return out.files[name].decode("utf-8", "replace").strip()[:FEEDBACK_CHARS]
        return failed_checks(out) or "the task's checks did not all pass"


def _stage(tests: Mapping[str, Path], folder: Path, box: Path) -> None:
    """Copy the tests into a folder of their own, readable by whoever the box runs as, and make the box's folder."""
    box.mkdir()
    folder.mkdir()
    for path, source in sorted(tests.items()):
        target = folder.joinpath(*PurePosixPath(path).parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o555)
    for made in (folder, *(found for found in folder.rglob("*") if found.is_dir())):
        made.chmod(0o755)


def _tails(ended: Ended) -> dict[str, str]:
    """The ends of both streams, for people alone: they may show gold."""
    return {name: _tail(file) for name, file in (("stdout", ended.stdout), ("stderr", ended.stderr))}


def _tail(file: Path, size: int = 4_000) -> str:
    with file.open("rb") as stream:
        stream.seek(0, 2)
        stream.seek(max(0, stream.tell() - size))
        return stream.read().decode("utf-8", "replace")


def _check(task: Task, options: ScriptOptions) -> None:  # every option is checked by its type
    if SCRIPT not in task.tests:
        msg = f"tests: has no {SCRIPT}, which test_script runs"
        raise ValueError(msg)


def _build(options: ScriptOptions, context: Context) -> Scorer:
    if context.sandbox is None:
        msg = "scorer test_script needs a sandbox: run `honed doctor` to see why there is none"
        raise VerifierError(msg)
    return ScriptScorer(options, context.sandbox, context.folder, context.limits)


TEST_SCRIPT = ScorerKind("test_script", 1, ScriptOptions, _check, _build)
