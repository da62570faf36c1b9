"""Tasks of several steps in real boxes: solved, left undone, and attacked from one step to the next.

The agent is a shell script that stands in for the CLI's binary; all else is real: harness, boxes, tests, rollouts.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import AttemptRecord, RunRecord
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.digest import build_digest
from daemon.tasks.formats.harbor import scan_harbor
from daemon.tasks.images import TAG, prepare
from daemon.tasks.load import load_tasks
from daemon.tasks.prove import Verdict, prove
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context
from daemon.tasks.task import Task
from harnesses.claude_code import ClaudeCodeHarness
from harnesses.cli_harness import CliSettings
from harnesses.clis import CliBinary
from sandboxes.engine_client import address
from sandboxes.gateway.fake import FakeGateway
from tests.support.agents import door_policy
from tests.support.golden import CLAUDE, case
from tests.support.harnesses import USED
from tests.support.optimizer import no_wait
from tests.support.sandboxes import docker_client, docker_image
from tests.support.tasks import GOLDEN

SET = GOLDEN / "harbor-steps"
TASKS = {task.id: replace(task, digest=f"sha256:{task.id}") for task in load_tasks(SET, min_selection=1).tasks}
BINARY = """#!/bin/bash
prompt=$(cat)
here=$(dirname "$0")
( . "$here/agent.sh" ) </dev/null >/dev/null 2>&1
cat "$here/stream.jsonl"
"""


async def attempt(task: Task, agent: str, context: Context, folder: Path) -> AttemptRecord:
    """One attempt by an agent that is this script, with `$prompt` at hand."""
    assert context.sandbox is not None
    place = folder / "cli"
    place.mkdir()
    files = {"claude": BINARY, "agent.sh": agent, "stream.jsonl": case(CLAUDE, "session_explicit").stdout.decode()}
    for name, text in files.items():
        (place / name).write_text(text)
        (place / name).chmod(0o755)
    place.chmod(0o755)
    gateway = FakeGateway(folder / "s", tally=lambda _: USED)
    settings = CliSettings(
        CliBinary("claude", place, "claude", "1"), door_policy("anthropic", "http://127.0.0.1:9"), limits=context.limits
    )

    async def verify(one: Task, result: object) -> object:
        return await score_task(one, result, context)  # type: ignore[arg-type]

    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    rollouts = Rollouts(
        ClaudeCodeHarness(context.sandbox, gateway, settings),
        verify,  # type: ignore[arg-type]
        journal,
        attempts_folder=folder / "attempts",
        sleep=no_wait,
    )
    (result,) = await rollouts.score(None, [task], run_id="r1")
    return result.record


def solving(task: Task) -> str:
    """An agent that knows what each step asks for."""
    told = [(step.prompt.splitlines()[0], step.solution["solve.sh"].read_text()) for step in task.steps]
    return "\n".join(f"case $prompt in *'{line}'*) ( {script}\n );; esac" for line, script in told)


@pytest.mark.parametrize("name", sorted(TASKS))
async def test_the_solutions_score_1_and_nothing_0(name: str, any_context: Context) -> None:
    proof = await prove(TASKS[name], any_context)
    assert (proof.verdict, proof.oracle, proof.nothing, proof.detail) == (Verdict.PROVED, 1.0, 0.0, "")


async def test_a_solution_that_fails_in_its_second_step_is_told_as_such(any_context: Context, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SET / "ledger", tmp_path / "set" / "ledger"))
    (folder / "steps" / "report" / "solution" / "solve.sh").write_text("echo no luck >&2; exit 3\n")
    (found,) = scan_harbor(folder)
    assert found.task is not None
    proof = await prove(found.task, any_context)
    assert (proof.verdict, proof.oracle, proof.nothing) == (Verdict.ORACLE_FAILS, 0.5, 0.0)
    assert "step 2 of 2 (report): the task's checks did not all pass" in proof.detail
    assert "solve.sh: exit code 3, stderr ends: 'no luck'" in proof.detail


async def test_a_setup_script_or_tests_that_fail_are_no_score(any_context: Context, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SET / "ledger", tmp_path / "set" / "ledger"))
    setup = folder / "steps" / "report" / "workdir" / "setup.sh"
    setup.write_text("echo cannot fetch >&2; exit 6\n")
    (found,) = scan_harbor(folder)
    assert found.task is not None
    proof = await prove(found.task, any_context)
    assert (proof.verdict, proof.oracle) == (Verdict.UNSCORED, None)
    assert proof.detail == "step 2 of 2 (report): setup.sh ended with exit code 6: cannot fetch"
    setup.write_text("exit 0\n")
    (folder / "steps" / "report" / "tests" / "test.sh").write_text("exit 0\n")
    proof = await prove(found.task, any_context)
    assert (proof.verdict, proof.oracle) == (Verdict.UNSCORED, None)
    assert "the solution, step 2 of 2 (report): task ledger: the test script wrote neither" in proof.detail


@pytest.mark.parametrize("name", sorted(TASKS))
async def test_an_agent_works_through_the_steps(name: str, any_context: Context, tmp_path: Path) -> None:
    record = await attempt(TASKS[name], solving(TASKS[name]), any_context, tmp_path)
    assert (record.outcome, record.detail, record.score, record.hard) == ("completed", "", 1.0, True)
    assert [one["name"] for one in record.score_detail["steps"]] == [step.name for step in TASKS[name].steps]


HOSTILE = """
mkdir -p logs/verifier tests
for place in . logs/verifier tests /logs/verifier /logs /tests /output; do
  echo 1 > $place/reward.txt
  echo '{"reward": 1}' > $place/reward.json
done
printf '#!/bin/bash\\necho 1 > "$LOGS_DIR/reward.txt"\\n' | tee test.sh > tests/test.sh
find / -xdev -path /proc -prune -o \\( -name same.sh -o -name solve.sh \\) -print >> found.txt
ls -d /tests* /solution* /logs* >> found.txt
rm -rf data notes.txt; ln -s /etc data; ln -s /etc/hostname late.csv; mkdir SKILL.md
"""


@pytest.mark.parametrize(
    "any_context",
    [
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("bubblewrap", marks=pytest.mark.bubblewrap),
    ],
    indirect=True,
)
async def test_what_an_agent_plants_in_one_step_helps_in_none(any_context: Context, tmp_path: Path) -> None:
    ledger = TASKS["ledger"]
    first, second = (replace(step, min_reward={}, setup="") for step in ledger.steps)
    record = await attempt(replace(ledger, steps=(first, second)), HOSTILE, any_context, tmp_path)
    assert (record.outcome, record.detail, record.score, record.hard) == ("completed", "", 0.0, False)
    assert len(record.score_detail["steps"]) == 2
    left = tmp_path / "attempts" / record.attempt_id / "step-2" / "workspace"
    assert (left / "found.txt").read_text() == "", "the tests of no step are where an agent runs"
    assert not (tmp_path / "attempts" / record.attempt_id / "step-1" / "workspace").exists()


DOCKERFILE = """
FROM {base}
USER 0:0
WORKDIR /elsewhere
RUN mkdir -p /output /app/work && echo lantern > /app/work/word.txt
"""


@pytest.fixture
def imaged(tmp_path: Path) -> Iterator[Task]:
    """The notes in an image of their own, with a folder beside the workspace; what was built is removed."""
    folder = Path(shutil.copytree(SET / "notes", tmp_path / "set" / "notes"))
    (folder / "environment" / "word.txt").unlink()
    (folder / "environment" / "Dockerfile").write_text(DOCKERFILE.format(base=docker_image()))
    toml = folder / "task.toml"
    toml.write_text(toml.read_text() + '[environment]\nworkdir = "/app/work"\n')
    workdir = folder / "steps" / "second" / "workdir"
    workdir.mkdir()
    (workdir / "setup.sh").write_text('[ "$PWD" = /app/work ] && echo "$(id -u)" > /output/uid.txt && rm "$0"\n')
    test = folder / "steps" / "second" / "tests" / "test.sh"
    test.write_text(test.read_text() + '[ -s /output/uid.txt ] || echo 0 > "$LOGS_DIR/reward.txt"\n')
    (found,) = scan_harbor(folder)
    assert found.task is not None, found.error
    yield replace(found.task, digest="sha256:imaged")
    with docker_client() as client:
        for image in client.images.list(
            name=f"{TAG}:{build_digest(folder / 'environment').removeprefix('sha256:')[:16]}"
        ):
            client.images.remove(image.id, force=True)


@pytest.mark.docker
async def test_steps_in_a_tasks_own_image(imaged: Task, context: Context, tmp_path: Path) -> None:
    task = await prepare(imaged, address(), tmp_path / "images")
    proof = await prove(task, context)
    assert (proof.verdict, proof.oracle, proof.nothing) == (Verdict.PROVED, 1.0, 0.0), proof.detail
    record = await attempt(task, solving(task), context, tmp_path)
    assert (record.outcome, record.score) == ("completed", 1.0), record.detail


@pytest.mark.docker
async def test_no_step_shows_the_next_one_a_folder_of_the_host(imaged: Task, context: Context, tmp_path: Path) -> None:
    """`/output` is a folder of the workspace: an agent that makes a link of it must not get the host's in its place."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("of the host")
    task = await prepare(imaged, address(), tmp_path / "images")
    agent = f"cat /output/key.txt > leak.txt; rm -rf /app/.root/output; ln -s {secret} /app/.root/output; exit 0\n"
    record = await attempt(task, agent, context, tmp_path)
    assert (record.outcome, record.score) == ("completed", 0.0), record.detail
    left = tmp_path / "attempts" / record.attempt_id / "step-2" / "workspace" / "work" / "leak.txt"
    assert left.read_text() == ""
    assert [path.name for path in secret.iterdir()] == ["key.txt"]
