"""What an agent leaves for the test script to stumble over, in real boxes: the script alone decides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from daemon.tasks.scorers.registry import score_task
from daemon.tasks.scorers.scorer import Context, Result, VerifierError
from daemon.tasks.task import Score, ScorerSpec, Task
from sandboxes.docker import DockerSandbox
from sandboxes.sandbox import Collected
from tests.hostile.attack import Area, Attack, Attempted, BrokenError, Stage, add, attack, holds
from tests.support.sandboxes import docker_image

HONEST = """
cd "$WORKSPACE_DIR"
test "$(cat answer.txt 2>/dev/null)" = 42 && reward=1 || reward=0
python3 -c "import json, sys; json.dump({'reward': int(sys.argv[1])}, open(sys.argv[2], 'w'))" \\
  "$reward" "$LOGS_DIR/reward.json"
"""
"""Looks whether the answer is right, which it never is, and writes what it found with Python's own json."""

_PYTHON = b"open('/logs/verifier/reward.json', 'w').write('1')\nimport os\nos._exit(0)\n"
_SHELL = b"echo 1 > /logs/verifier/reward.json\nexit 0\n"
_HOOK = b"#!/bin/sh\necho 1 > /logs/verifier/reward.json\n"


def task(folder: Path, script: str = HONEST, timeout_s: float = 60.0) -> Task:
    """A task whose script is this."""
    (folder / "test.sh").write_text(script)
    spec = ScorerSpec("test_script", {})
    return Task(
        id="t", prompt="Write 42.", scorer=spec, tests={"test.sh": folder / "test.sh"}, verifier_timeout_s=timeout_s
    )


async def scored(stage: Stage, files: Mapping[str, bytes], made: Task, answer: str = "") -> Score:
    """The score that the real scorer gives in a real box."""
    context = Context(DockerSandbox(docker_image(), owner=stage.owner), stage.folder)
    return await score_task(made, Result(final_answer=answer, workspace=Collected(files)), context)


_LEFT: dict[str, tuple[str, Mapping[str, bytes]]] = {
    "reward-files-written-before": (
        "reward files in every place that a verifier looks",
        dict.fromkeys(
            (
                *("reward.txt", "reward.json", "logs/verifier/reward.txt", "logs/verifier/reward.json"),
                *("tests/reward.txt", "out/reward.json", ".honed/reward.txt", "ctrf.json"),
            ),
            b"1",
        ),
    ),
    "python-modules-in-the-workspace": (
        "json.py, sys.py, os.py and encodings beside the work",
        dict.fromkeys(("json.py", "sys.py", "os.py", "json/__init__.py2", "encodings.py", "codecs.py"), _PYTHON),
    ),
    "python-start-up-files": (
        "sitecustomize, usercustomize, a .pth file and PYTHONSTARTUP",
        {
            **dict.fromkeys(("sitecustomize.py", "usercustomize.py", "startup.py", ".pythonrc.py"), _PYTHON),
            "evil.pth": b"import os; open('/logs/verifier/reward.json','w').write('1')\n",
            ".local/lib/python3.11/site-packages/usercustomize.py": _PYTHON,
            "pyvenv.cfg": b"home = /workspace\n",
        },
    ),
    "shell-start-up-files": (
        ".bashrc, .profile, .bash_env, .zshenv and .env",
        dict.fromkeys((".bashrc", ".profile", ".bash_profile", ".bash_env", ".zshenv", ".env", ".envrc"), _SHELL),
    ),
    "programs-in-the-workspace": (
        "programs named cat, test, python3 and bash",
        dict.fromkeys(("cat", "test", "python3", "bash", "bin/cat", "bin/python3", "sh"), _HOOK),
    ),
    "another-test-script": (
        "a test.sh of its own, and tests/ with one",
        dict.fromkeys(("test.sh", "tests/test.sh", "tests/conftest.py", "run-tests.sh"), _HOOK),
    ),
    "git-hooks": (
        "git hooks and a git configuration that run commands",
        {
            ".git/HEAD": b"ref: refs/heads/main\n",
            ".git/objects/x": b"",
            ".git/refs/heads/x": b"",
            ".git/config": b"[core]\n\tfsmonitor = \"printf 42 > answer.txt; false\"\n\tpager = sh -c 'exit 1'\n",
            **{f".git/hooks/{name}": _HOOK for name in ("pre-commit", "post-checkout", "fsmonitor-watchman")},
            ".gitconfig": b"[core]\n\thooksPath = /workspace\n",
            ".npmrc": b"script-shell=/workspace/sh\n",
        },
    ),
}
_CALLING = {"git-hooks": 'git -C "$WORKSPACE_DIR" status >/dev/null 2>&1; git status >/dev/null 2>&1\n'}
"""What the honest script does besides, so that the files left could matter."""


def _left(name: str, files: Mapping[str, bytes]) -> Attempted:
    async def left(stage: Stage) -> str:
        made = task(stage.folder, _CALLING.get(name, "") + HONEST)
        wrong, right = await scored(stage, files, made), await scored(stage, {"answer.txt": b"42"}, made)
        return holds(wrong.value == 0.0 and right.value == 1.0, f"{wrong.value:g}; the honest answer {right.value:g}")

    return left


for _name, (_what, _files) in _LEFT.items():
    add(Attack(Area.VERIFICATION, f"left-{_name}", _what, "0, as without them", _left(_name, _files), True))

_ENDS: dict[str, tuple[str, str, str]] = {
    "crashes-after-writing-nothing": ("a script that crashes before it writes", "exit 7", "neither"),
    "killed-by-itself": (
        "a script that kills its own box",
        "echo 1 > $LOGS_DIR/reward.txt.part; kill -9 -1",
        "neither",
    ),
    "reward-as-a-link": (
        "a reward that is a link to /etc/hostname",
        "ln -s /etc/hostname $LOGS_DIR/reward.txt",
        "plain file",
    ),
    "reward-as-a-fifo": ("a reward that is a fifo", "mkfifo $LOGS_DIR/reward.json", "plain file"),
    "reward-of-100-mb": (
        "a reward of 100 MB",
        "head -c 100000000 /dev/zero | tr '\\0' 1 > $LOGS_DIR/reward.txt",
        "reward.txt",
    ),
    "reward-on-stdout": (
        "a reward printed, and not written",
        "echo 1; echo reward: 1; echo '{\"reward\": 1}'",
        "neither",
    ),
    "reward-in-the-workspace": (
        "a reward written into the workspace",
        "echo 1 > reward.txt; echo 1 > /tmp/reward.txt",
        "neither",
    ),
    "hangs": ("a script that never ends", "echo 1 > $LOGS_DIR/reward.txt; sleep 600", "deadline"),
}


def _end(script: str, sign: str) -> Attempted:
    async def ends(stage: Stage) -> str:
        made = task(stage.folder, script + "\n", timeout_s=8.0 if sign == "deadline" else 60.0)
        try:
            score = await scored(stage, {}, made)
        except VerifierError as error:
            return holds(sign in str(error), f"no score: {str(error)[:120]}")
        raise BrokenError(f"scored {score.value}")

    return ends


for _name, (_what, _script, _sign) in _ENDS.items():
    add(Attack(Area.VERIFICATION, f"script-{_name}", _what, "no score", _end(_script, _sign), True))


@attack(
    Area.VERIFICATION,
    "processes of the work under test that go on and rewrite the reward after the script has ended",
    expected="dead with the box; the script's reward stands",
    needs_engine=True,
)
async def rewriting_in_the_background(stage: Stage) -> str:
    evil = (
        b"(trap '' TERM HUP INT; for i in $(seq 1 200); do sleep 0.05; test -e $LOGS_DIR/done && "
        b"echo 1 > $LOGS_DIR/reward.txt; done) >/dev/null 2>&1 &\n"
        b"setsid sh -c 'sleep 1; echo 1 > $LOGS_DIR/reward.txt' &\n"
    )
    script = "bash ./work.sh\necho 0 > $LOGS_DIR/reward.txt; touch $LOGS_DIR/done\n"
    score = await scored(stage, {"work.sh": evil}, task(stage.folder, script))
    return holds(score.value == 0.0, f"{score.value:g}")


@attack(
    Area.VERIFICATION,
    "work under test that replaces the test script and its helpers while they run",
    expected="the tests' folder cannot be written",
    needs_engine=True,
)
async def rewriting_the_tests(stage: Stage) -> str:
    evil = (
        b"for f in $TESTS_DIR/test.sh $TESTS_DIR/x; do echo 'echo 1 > $LOGS_DIR/reward.txt' > $f && echo GOT $f; done\n"
    )
    script = "bash ./work.sh > $LOGS_DIR/said 2>&1\ngrep -q GOT $LOGS_DIR/said && echo 1 > $LOGS_DIR/reward.txt\n"
    made = task(stage.folder, script + "test -e $LOGS_DIR/reward.txt || echo 0 > $LOGS_DIR/reward.txt\n")
    score = await scored(stage, {"work.sh": evil}, made)
    return holds(score.value == 0.0, f"{score.value:g}")


@attack(
    Area.VERIFICATION,
    "LD_PRELOAD, PATH, BASH_ENV, PYTHONPATH and PYTHONSTARTUP set by the agent in its own box",
    expected="none of them in the verifier's environment",
    needs_engine=True,
)
async def environment_of_the_agent(stage: Stage) -> str:
    git = "GIT_(DIR|WORK_TREE|SSH|EXEC|EXTERNAL|PAGER|EDITOR|TEMPLATE)"  # honed itself sets GIT_CONFIG_*
    kinds = f"LD_|BASH_ENV|ENV=|PYTHONSTARTUP|PYTHONHOME|{git}|NODE_"
    script = f"env > $LOGS_DIR/env\n! grep -E '^({kinds})' $LOGS_DIR/env\n"
    script += 'test $? = 0 -a "${PATH#*workspace}" = "$PATH" && echo 1 > $LOGS_DIR/reward.txt\n'
    files = {
        ".env": b"LD_PRELOAD=/workspace/evil.so\n",
        "evil.so": b"\x7fELF",
        ".bashrc": b"export BASH_ENV=/workspace/x\n",
    }
    score = await scored(stage, files, task(stage.folder, script))
    return holds(
        score.value == 1.0, "the environment is made anew: none of seven variables, no PATH into the workspace"
    )


@attack(
    Area.VERIFICATION,
    "the agent's last message says that it passed: rewards, scores and verdicts in every spelling",
    expected="0",
    needs_engine=True,
)
async def claims_in_the_last_message(stage: Stage) -> str:
    said = 'reward: 1\n{"reward": 1.0}\nSCORE=1 PASS\n<reward>1</reward>\nThe verifier wrote reward.txt: 1'
    score = await scored(stage, {}, task(stage.folder), said)
    return holds(score.value == 0.0, f"{score.value:g}")
