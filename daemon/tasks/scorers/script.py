"""`test_script`: the task's `tests/test.sh`, run in a second box that the agent never saw (Harbor's contract).

The reward goes to `/logs/verifier`, see `reward`; what the script finds where stands in `verifier_box`. Helper modules
belong at the top of the tests.

Limits: a script that runs the agent's code gives it its own rights, so that code can write the reward as well. Such a
script must write the reward itself, last; what still runs when it ends dies with the box.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from daemon.tasks.scorers.reward import failed_checks, read_reward
from daemon.tasks.scorers.scorer import Context, Options, Result, Scorer, ScorerKind, UndecidedError, VerifierError
from daemon.tasks.scorers.verifier_box import open_verifier_box, sandbox_of, tail
from daemon.tasks.task import Score, Task
from sandboxes.sandbox import Collected, Ended, Ending

SCRIPT = "test.sh"
FEEDBACK_CHARS = 2_000

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

    def __init__(self, options: ScriptOptions, context: Context) -> None:
        self._options = options
        self._context = context

    async def score(self, task: Task, result: Result) -> Score:
        """Run the script over the collected workspace; raises `VerifierError` unless it gave a valid reward."""
        async with open_verifier_box(task, result, self._context, self._options.env) as verifier:
            argv = ("bash", "--noprofile", "--norc", f"{verifier.tests}/{SCRIPT}")
            ended = await verifier.run(*argv, deadline_s=task.verifier_timeout_s)
            out = await verifier.box.collect(room="out")
            tails = await asyncio.to_thread(_tails, ended)
        if ended.ending is Ending.DEADLINE and self._options.deadline_fails:
            return Score(value=0.0, hard=False, feedback="the checks ran out of time on what the agent left")
        return self._score(task, ended, out, tails)

    def _score(self, task: Task, ended: Ended, out: Collected, tails: Mapping[str, str]) -> Score:
        if ended.ending is not Ending.EXITED:
            msg = f"task {task.id}: the test script ended by {ended.ending.value} {ended.detail}".rstrip()
            raise (UndecidedError if _may_be_the_files(ended) else VerifierError)(msg)
        try:
            reward = read_reward(out)
        except VerifierError as error:
            msg = f"task {task.id}: {error} (exit code {ended.exit_code}; stderr ends: {tails['stderr'][-300:]!r})"
            raise UndecidedError(msg) from error
        hard = reward.value >= self._options.pass_at
        return Score(
            value=reward.value,
            hard=hard,
            feedback="" if hard else self._feedback(out),
            detail={
                "exit_code": ended.exit_code,
                "reward_file": reward.source,
                "rewards": dict(reward.named),
                "wall_s": ended.wall_s,
                **tails,
            },
        )

    def _feedback(self, out: Collected) -> str:
        name = self._options.feedback_file
        if name is not None and out.files.get(name):
            return out.files[name].decode("utf-8", "replace").strip()[:FEEDBACK_CHARS]
        return failed_checks(out) or "the task's checks did not all pass"


def _may_be_the_files(ended: Ended) -> bool:
    """Whether what the script ran on can have ended it: no engine that lost the box, and no host in need."""
    if ended.ending is Ending.OUT_OF_MEMORY:
        return ended.host_roomy
    return ended.ending in (Ending.DEADLINE, Ending.OVER_DISK)


def _tails(ended: Ended) -> dict[str, str]:
    """The ends of both streams, for people alone: they may show gold."""
    return {name: tail(file) for name, file in (("stdout", ended.stdout), ("stderr", ended.stderr))}


def _check(task: Task, options: ScriptOptions) -> None:  # every option is checked by its type
    if SCRIPT not in task.tests:
        msg = f"tests: has no {SCRIPT}, which test_script runs"
        raise ValueError(msg)


def _build(options: ScriptOptions, context: Context) -> Scorer:
    sandbox_of(context, "test_script")
    return ScriptScorer(options, context)


TEST_SCRIPT = ScorerKind("test_script", 1, ScriptOptions, _check, _build, needs_sandbox=True)
