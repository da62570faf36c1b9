"""The real CLIs in the real sandbox, against the simulated model: what they do follows the skill they were given."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from daemon.demo.demo_set import DemoSet
from daemon.demo.server import SimulatedModel
from daemon.demo.tasks import write_demo
from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Result
from daemon.tasks.task import Score
from harnesses.claude_code import ClaudeCodeHarness
from harnesses.cli_harness import CliHarness, CliSettings
from harnesses.codex import CodexHarness
from harnesses.harness import Activation, Assignment, Attempt, RenderedSkill
from harnesses.outcome import Outcome
from sandboxes.docker import DockerSandbox
from sandboxes.gateway.proxy import ModelGateway
from skills_repo.skill import Skill
from tests.support.agents import door_policy, installed
from tests.support.demo import RULES, skill_of, taught
from tests.support.sandboxes import docker_image

pytestmark = [pytest.mark.docker, pytest.mark.clis]


@dataclass(frozen=True)
class Bench:
    """A CLI in a container with the simulated model behind its door."""

    harness: CliHarness
    demo: DemoSet
    folder: Path

    async def attempt(self, task_id: str, skill: Skill, activation: Activation = "explicit") -> tuple[Attempt, Score]:
        task = next(task for task in load_tasks(self.demo.tasks).tasks if task.id == task_id)
        assignment = Assignment(
            attempt_id=f"demo-{self.folder.name[-8:]}-{skill.digest[-8:]}".replace("_", "x").lower(),
            task_id=task.id,
            prompt=task.prompt,
            folder=self.folder / f"attempt-{skill.digest[-8:]}",
            files=task.file_bytes(),
            skill=RenderedSkill(skill.name, skill.digest, skill.files),
            activation=activation,
            deadline_s=120.0,
        )
        attempt = await self.harness.run(assignment)
        return attempt, await score_task(task, Result(attempt.trace.final_answer, attempt.workspace))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Short enough for unix sockets."""
    made = Path(tempfile.mkdtemp(prefix="honed-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(params=["codex", "claude-code"])
async def bench(request: pytest.FixtureRequest, folder: Path) -> AsyncIterator[Bench]:
    sandbox = DockerSandbox(docker_image(), owner="honed-tests")
    gateway = ModelGateway(folder / "s")
    async with SimulatedModel() as model:
        harness: CliHarness
        if request.param == "codex":
            policy = door_policy("openai", model.openai_base_url)
            harness = CodexHarness(sandbox, gateway, CliSettings(installed("codex"), policy))
        else:
            policy = door_policy("anthropic", model.anthropic_base_url)
            harness = ClaudeCodeHarness(sandbox, gateway, CliSettings(installed("claude"), policy))
        try:
            yield Bench(harness, write_demo(folder / "demo"), folder)
        finally:
            await gateway.close()


async def test_the_initial_skill_fails_and_the_taught_one_succeeds(bench: Bench) -> None:
    naive = skill_of(bench.demo)
    attempt, score = await bench.attempt("selection-11", naive)
    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert (attempt.trace.skill_listed, attempt.trace.skill_opened) == (True, True)
    assert not score.hard
    assert "on the active sheet" in attempt.summary

    attempt, score = await bench.attempt("selection-11", taught(naive, *RULES.values()))
    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert (score.value, score.hard) == (1.0, True)
    assert attempt.trace.final_answer.startswith("Done: wrote")
    assert attempt.usage.requests == 2
    assert attempt.usage.cached_input_tokens > 0


async def test_a_skill_that_is_only_listed_is_found_and_followed(bench: Bench) -> None:
    skill = taught(skill_of(bench.demo), RULES["formula"])
    attempt, score = await bench.attempt("selection-03", skill, "discovered")
    assert (attempt.outcome, score.hard) == (Outcome.COMPLETED, True)
    assert attempt.trace.skill_opened
    assert attempt.usage.requests == 3
