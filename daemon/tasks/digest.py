"""What a task is, as one digest; and which tasks give an agent the same work.

The digest names what decides a result: prompt, files, gold, tests, scorer with options and version, and the bounds.
Split, group, weight and protection decide what is made of a result, so changing them re-runs nothing (they count in
`TaskSet.digest`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daemon.tasks.scorers.episode import EPISODE_WON
from daemon.tasks.task import Environment, Task


def task_digest(task: Task, *, scorer_version: int) -> str:
    """`sha256:…` of everything that decides a result; reads every file of the task."""
    return _sha256(
        {
            "id": task.id,
            "prompt": task.prompt,
            "files": file_digests(task.files),
            "tests": file_digests(task.tests),
            "answer": task.answer,
            "scorer": [task.scorer.name, scorer_version, dict(task.scorer.options)],
            "timeout_s": task.timeout_s,
            "verifier_timeout_s": task.verifier_timeout_s,
            **_environment(task.environment),
            **({"tools": [task.tools.name, task.tools.turns]} if task.tools else {}),
            **_steps(task),
        }
    )


def _environment(environment: Environment | None) -> dict[str, Any]:
    """What the machine is made of; nothing for a task that asks for none, whose digest is as it always was."""
    if environment is None:
        return {}
    folder = environment.build
    files = {} if folder is None else {one.relative_to(folder).as_posix(): one for one in _regular(folder)}
    # What artifacts name can be written, so they decide a result too.
    further: list[Any] = [sorted(environment.artifacts)] if environment.artifacts else []
    further += [{"workdir": environment.workdir}] if environment.workdir else []
    made = [environment.image, file_digests(files), environment.memory_bytes, environment.cpus, *further]
    return {"environment": made}


def _steps(task: Task) -> dict[str, Any]:
    """What is done step by step; nothing for any other task, whose digest is as it always was."""
    if not task.steps:
        return {}
    made = [
        [
            step.name,
            step.prompt,
            file_digests(step.files),
            step.setup,
            file_digests(step.tests),
            [step.scorer.name, dict(step.scorer.options)],
            step.timeout_s,
            step.verifier_timeout_s,
            sorted(step.min_reward.items()),
        ]
        for step in task.steps
    ]
    return {"steps": made, "rewards": task.rewards}


def build_digest(folder: Path) -> str:
    """`sha256:…` of a folder with a Dockerfile: names the image that is built of it."""
    return _sha256(file_digests({one.relative_to(folder).as_posix(): one for one in _regular(folder)}))


def _regular(folder: Path) -> list[Path]:
    return [one for one in sorted(folder.rglob("*")) if one.is_file()]


def met(task: Task) -> Mapping[str, Path]:
    """Every file that an agent meets: those it is given, and the game that it plays, which tells it the rest."""
    if task.scorer.name != EPISODE_WON.name:
        return task.shown
    game = str(task.scorer.options["game"])
    return {**task.shown, f"game/{game}": task.tests[game]}


def work_digest(task: Task) -> str:
    """`sha256:…` of what the agent meets: two tasks that share it are the same work whatever their ids."""
    return _sha256({"prompt": " ".join(task.prompt.split()), "files": file_digests(met(task))})


def work_key(task: Task) -> int:
    """64 bits of the same: equal work has equal keys, and unequal keys are other work. Cheaper, and small to keep."""
    key = hashlib.blake2b(" ".join(task.prompt.split()).encode("utf-8", "surrogatepass"), digest_size=8)
    for path, digest in file_digests(met(task)):
        key.update(f"\0{path}\0{digest}".encode())
    return int.from_bytes(key.digest(), "big")


def file_digests(files: Mapping[str, Path]) -> list[list[str]]:
    """[path, sha256 of the content], ordered by path."""
    if not files:
        return []
    return [[path, hashlib.sha256(source.read_bytes()).hexdigest()] for path, source in sorted(files.items())]


def _sha256(plain: object) -> str:
    return "sha256:" + hashlib.sha256(_ENCODER.encode(plain).encode()).hexdigest()


_ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=True, separators=(",", ":"))
