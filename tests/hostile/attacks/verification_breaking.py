"""An agent leaves what breaks the task's own test script, so that its attempt has no score: it has one, 0.

In real boxes, with the real scorer and the real judge. The script is a fair one, which runs the agent's program.
"""

from __future__ import annotations

from daemon.rollouts.scoring import Judge
from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context, Result
from daemon.tasks.task import Score, Task
from harnesses.outcome import Outcome
from sandboxes.docker import DockerSandbox
from sandboxes.sandbox import Collected
from tests.hostile.attack import Area, Attack, Attempted, Stage, add, attack, holds
from tests.hostile.attacks.verification_script import task
from tests.support.journal import a_key, a_record
from tests.support.optimizer import no_wait
from tests.support.sandboxes import docker_image

RUNS_IT = """
cd "$WORKSPACE_DIR"
test "$(python3 answer.py 2>/dev/null)" = 42 && reward=1 || reward=0
echo "$reward" > "$LOGS_DIR/reward.txt"
"""
TIMEOUT_S = 5.0
_LEFT = {
    "hangs-its-tests": ("a program that never ends", b"import time\ntime.sleep(600)\n"),
    "kills-its-tests": ("a program that kills the script", b"import os\nos.kill(-1, 9)\n"),
    "blocks-its-reward": (
        "a program that makes the reward's file a folder",
        b"import os\nos.mkdir(os.environ['LOGS_DIR'] + '/reward.txt')\n",
    ),
    "spoils-its-reward": (
        "a program that writes a reward of 2 beside the script's",
        b"import os\nopen(os.environ['LOGS_DIR'] + '/reward.json', 'w').write('2')\n",
    ),
}


async def _judged(stage: Stage, made: Task, program: bytes) -> str:
    """What an attempt that left the program comes to."""
    context = Context(DockerSandbox(docker_image(), owner=stage.owner), stage.folder)

    async def verifier(one: Task, result: Result) -> Score:
        return await score_task(one, result, context)

    left = Result(workspace=Collected({"answer.py": program}))
    record = await Judge(verifier, 1, no_wait).judge(
        a_record("a-1", score=None, hard=None, feedback=""), left, made, a_key()
    )
    told = f"{record.outcome}, score {record.score}: {record.feedback or record.detail}"
    return told[:110]


def _breaks(program: bytes) -> Attempted:
    async def breaks(stage: Stage) -> str:
        told = await _judged(stage, task(stage.folder, RUNS_IT, TIMEOUT_S), program)
        return holds(told.startswith(f"{Outcome.COMPLETED}, score 0.0: the checks"), told)

    return breaks


for _name, (_what, _program) in _LEFT.items():
    add(
        Attack(
            Area.VERIFICATION,
            _name,
            f"an agent leaves {_what}, to have no score",
            "score 0",
            _breaks(_program),
            needs_engine=True,
        )
    )


@attack(
    Area.VERIFICATION,
    "a test script that is broken itself meets an honest agent",
    expected="no score: the script fails over untouched files too",
    needs_engine=True,
)
async def broken_tests_blame_no_agent(stage: Stage) -> str:
    told = await _judged(stage, task(stage.folder, "exit 1\n", TIMEOUT_S), b"print(42)\n")
    return holds(told.startswith(f"{Outcome.VERIFIER_FAILED}, score None"), told)
