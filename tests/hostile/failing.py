"""One whole attempt whose surroundings fail in a known way: its outcome, policy and message are what is observed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from daemon.journal.records import AttemptKey
from daemon.rollouts.scoring import record_of
from daemon.rollouts.stop import stopped
from harnesses.chat import ChatHarness
from harnesses.cli_harness import CliHarness, CliSettings
from harnesses.clis import CliBinary
from harnesses.codex import CodexHarness
from harnesses.harness import Assignment, Attempt, Harness, RenderedSkill
from harnesses.models.factory import make_client
from harnesses.models.retry import Patience as ClientPatience
from harnesses.outcome import POLICIES, Outcome
from harnesses.vigil import Patience
from sandboxes.fake import FakeSandbox
from sandboxes.gateway.policy import DoorPolicy, Upstream
from sandboxes.gateway.proxy import ModelGateway
from sandboxes.gateway.upstream import Waits
from sandboxes.sandbox import Limits, Sandbox
from tests.faults.small_cli import play
from tests.hostile.attack import Stage, holds
from tests.support.gateway import Sleeps
from tests.support.optimizer import make_task

SKILL = RenderedSkill(
    "text", "sha256:x", {"SKILL.md": b"---\nname: text\ndescription: How to write.\n---\n\n# Text\n\nBe brief.\n"}
)
PROGRAM = "#!/bin/sh\nexit 0\n"


def policy_of(outcome: Outcome) -> str:
    """What follows, in two words, as docs/failures.md has it."""
    policy = POLICIES[outcome]
    if policy.scored:
        return "a score"
    return "stops the run" if policy.stop_run else "tried again" if policy.retry else "left out"


def expected_of(outcome: Outcome) -> str:
    """The column `expected` of an attack on an attempt."""
    return f"{outcome.value}, {policy_of(outcome)}"


def judged(attempt: Attempt, expected: Outcome, *words: str) -> str:
    """The observation: outcome, policy and the line that a person reads, which must hold these words."""
    told = line_of(attempt)
    seen = f"{attempt.outcome.value}, {policy_of(attempt.outcome)}: {told}"
    missing = [word for word in words if word not in told]
    return holds(attempt.outcome is expected and not missing, seen + (f" (without {missing})" if missing else ""))


def line_of(attempt: Attempt) -> str:
    """The line that stops a run, were it to be stopped by this attempt."""
    if POLICIES[attempt.outcome].scored:
        return attempt.detail
    task = make_task("t-1")
    record = record_of(attempt, task, AttemptKey("", task.digest, "codex", {}, 0))
    return str(stopped(record, {})).removeprefix(f"{attempt.outcome.value} on task t-1: ")


def by_cli(
    stage: Stage,
    upstream: Upstream,
    *,
    waits: Waits | None = None,
    sandbox: Sandbox | None = None,
    program: str = PROGRAM,
    patience: Patience | None = None,
    limits: Limits | None = None,
) -> CliHarness:
    """Codex's harness through the real gateway: in the fake engine with a CLI in a few lines, or with `program`."""
    waits = waits or Waits(random.Random(1), sleep=Sleeps())
    gateway = ModelGateway(stage.folder / "doors", waits=waits)
    stage.stack.push_async_callback(gateway.close)
    settings = CliSettings(binary(stage.folder, program), DoorPolicy(upstream, "m"), limits=limits or Limits())
    if patience is not None:
        settings = replace(settings, patience=patience)
    return CodexHarness(sandbox or FakeSandbox(play), gateway, settings)


def by_chat(stage: Stage, upstream: Upstream) -> Harness:
    """The chat harness over the real client."""
    client = make_client(upstream, "m", patience=ClientPatience(sleep=Sleeps(), rng=random.Random(1)))
    stage.stack.push_async_callback(client.close)
    return ChatHarness(client)


def binary(folder: Path, program: str) -> CliBinary:
    """A script that passes for Codex."""
    place = folder / "cli"
    place.mkdir(exist_ok=True)
    (place / "codex").write_text(program)
    (place / "codex").chmod(0o755)
    return CliBinary("codex", place, "codex", "0.171.0")


def assignment(stage: Stage, *, deadline_s: float = 60.0, tag: str = "a") -> Assignment:
    """One task with the skill."""
    folder = stage.folder / f"attempt-{tag}"
    folder.mkdir()
    return Assignment(
        attempt_id=f"{stage.owner[-16:]}-{tag}",
        task_id="t-1",
        prompt="Write it.",
        folder=folder,
        skill=SKILL,
        activation="explicit",
        deadline_s=deadline_s,
    )


Make = Callable[[Stage, Upstream], Harness]
