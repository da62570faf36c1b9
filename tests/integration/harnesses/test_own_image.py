"""The real Codex and Claude Code in a Harbor task's own image: their binaries are shown in it, it needs none itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from daemon.tasks.digest import build_digest
from daemon.tasks.formats.harbor import scan_harbor
from daemon.tasks.images import TAG, prepare
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context, Result
from daemon.tasks.task import Task, limits_for
from harnesses.outcome import Outcome
from sandboxes.engine_client import address
from tests.integration.harnesses.conftest import Bench
from tests.support.agents import SKILL
from tests.support.sandboxes import docker_client, docker_image
from tests.support.upstream import Upstream
from tests.support.wire import Step

pytestmark = [pytest.mark.docker, pytest.mark.clis]

DOCKERFILE = """
FROM {base}
USER 0:0
ENV WORD=lantern HOME=/nowhere ANTHROPIC_BASE_URL=http://127.0.0.1:9 OPENAI_BASE_URL=http://127.0.0.1:9
WORKDIR /app/work
RUN rm -rf /workspace /opt/agents && mkdir -p /output /app/.agents/skills/other /app/skills/other && \\
    printf 'a\\nb\\nc\\n' > in.csv && echo kept > /app/above.txt && \\
    printf -- '---\\nname: other\\ndescription: OTHER_MARK\\n---\\nx\\n' | tee /app/skills/other/SKILL.md > /app/.agents/skills/other/SKILL.md
ENTRYPOINT ["/bin/false"]
"""  # noqa: E501
TEST = """#!/bin/bash
[ "$PWD" = /app/work ] && [ "$(cat /output/answer.txt)" = 3 ] && [ "$(cat /app/above.txt)" = kept ]
echo $((1 - $?)) > /logs/verifier/reward.txt
"""


@pytest.fixture
def task(tmp_path: Path) -> Iterator[Task]:
    """A task with a Dockerfile of its own; what was built is removed."""
    folder = tmp_path / "count-lines"
    for name in ("environment", "tests"):
        (folder / name).mkdir(parents=True)
    (folder / "task.toml").write_text('[metadata]\nsplit = "train"\n[environment]\nmemory_mb = 2048\n')
    (folder / "instruction.md").write_text("Count the lines of in.csv. Write the number to /output/answer.txt.")
    (folder / "environment" / "Dockerfile").write_text(DOCKERFILE.format(base=docker_image()))
    (folder / "tests" / "test.sh").write_text(TEST)
    (found,) = scan_harbor(folder)
    assert found.task is not None, found.error
    yield found.task
    tag = f"{TAG}:{build_digest(folder / 'environment').removeprefix('sha256:')[:16]}"
    with docker_client() as client:
        for image in client.images.list(name=tag):
            client.images.remove(image.id, force=True)


async def test_an_agent_works_in_the_tasks_own_image(bench: Bench, task: Task, tmp_path: Path) -> None:
    ready = await prepare(task, address(), tmp_path / "images")
    assert ready.root is not None
    assert (ready.root.workspace, ready.root.workdir) == ("/app", "/app/work")
    command = "pwd && wc -l < in.csv > /output/answer.txt && cat /output/answer.txt"
    async with Upstream([bench.kind.run(command), Step(text="It has 3 lines.")]) as provider:
        assignment = bench.assignment(
            prompt=ready.prompt,
            files=ready.file_bytes(),
            root=ready.root,
            limits=partial(limits_for, ready),
            activation="explicit",
        )
        attempt = await bench.harness(provider).run(assignment)
        first = str(provider.requests[0].body)

    assert (attempt.outcome, attempt.detail) == (Outcome.COMPLETED, "")
    assert attempt.trace.final_answer == "It has 3 lines."
    assert (attempt.trace.skill_listed, attempt.trace.skill_opened) == (True, True)
    assert "/app/work" in attempt.summary
    assert "BODY_MARK_4471" in first
    assert "OTHER_MARK" not in first
    assert attempt.workspace.files["work/SKILL.md"] == SKILL.files["SKILL.md"]
    assert attempt.workspace.files["above.txt"] == b"kept\n"
    assert attempt.workspace.files[".root/output/answer.txt"] == b"3\n"
    assert not [path for path in attempt.workspace.files if "skills/other" in path]

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    score = await score_task(
        ready, Result(attempt.trace.final_answer, attempt.workspace), Context(bench.sandbox, scratch)
    )
    assert (score.value, score.hard) == (1.0, True), score.detail
