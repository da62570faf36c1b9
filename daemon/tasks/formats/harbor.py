"""Harbor task folders: `task.toml`, `instruction.md`, `environment/`, `tests/test.sh`; or `steps/NAME/` with its own.

Where there is a Dockerfile or a `docker_image`, that image is what agents and tests run in (`daemon.tasks.images`), and
its working directory is the workspace. Without one, the files under `environment/` are, apart from Dockerfiles, compose
files and `environment/skills/` (the skill being honed is the only one an agent gets). `solution/` is for
`honed tasks check` alone. honed's own keys (split, group, weight, protect, network) live in `[metadata]`. What honed
cannot honour is an error, not a silent difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from daemon.tasks.formats.found import Found, attempt
from daemon.tasks.formats.harbor_toml import StepTable, Toml, Verifier, read_toml
from daemon.tasks.formats.paths import check_task_id, inside_path, workspace_path
from daemon.tasks.task import SOLVE, Environment, ScorerSpec, Step, Task, TaskError

SETUP = "setup.sh"
_TEST = "test.sh"
_SCORER = "test_script"
_NOT_FILES = re.compile(r"(?i)(.*\.)?dockerfile(\..*)?|(docker-)?compose.*\.ya?ml|\.dockerignore")


def is_harbor(path: Path) -> bool:
    """Whether a folder is a Harbor task or holds some."""
    return (path / "task.toml").is_file() or any(path.glob("*/task.toml"))


def scan_harbor(path: Path) -> Iterator[Found]:
    """Every folder's task or fault, at `…/name/task.toml`, ordered by folder name."""
    folders = [path] if (path / "task.toml").is_file() else sorted(found.parent for found in path.glob("*/task.toml"))
    for folder in folders:
        yield attempt(str(folder / "task.toml"), partial(_task, folder))


def _task(folder: Path) -> Task:
    toml = read_toml(folder / "task.toml")
    try:
        task_id = check_task_id(folder.resolve().name)
    except ValueError as error:
        raise TaskError(f"{folder / 'task.toml'}: the folder's name {error}") from error
    steps = tuple(_step(folder, toml, table) for table in toml.steps)
    environment = _environment(folder, toml)
    options: dict[str, Any] = {} if steps else _options(toml.verifier)
    if toml.environment.docker_image:
        options["docker_image"] = toml.environment.docker_image
    return Task(
        id=task_id,
        prompt=_all_prompts(steps) if steps else _prompt(folder),
        scorer=ScorerSpec(_SCORER, options),
        files=_workspace_files(folder / "environment"),
        tests=_all_tests(steps) if steps else _tests(folder),
        split=toml.metadata.split,
        group=toml.metadata.group or toml.metadata.category or "",
        weight=toml.metadata.weight,
        protect=toml.metadata.protect,
        timeout_s=toml.agent.timeout_sec or Task.timeout_s,
        verifier_timeout_s=toml.verifier.timeout_sec or Task.verifier_timeout_s,
        solution={} if steps else _solution(folder),
        environment=environment if environment.build or environment.image else None,
        network=toml.network,
        steps=steps,
        rewards=toml.multi_step_reward_strategy,
    )


def _step(folder: Path, toml: Toml, table: StepTable) -> Step:
    """One of `[[steps]]`: what it does not say itself, the task says."""
    own = folder / "steps" / table.name
    files = _workspace_files(own / "workdir", build_files=False)
    return Step(
        name=table.name,
        prompt=_prompt(own),
        scorer=ScorerSpec(_SCORER, _options(toml.verifier, table.verifier)),
        tests=_tests(own, folder),
        files=files,
        setup=SETUP if SETUP in files else "",
        solution=_solution(own),
        timeout_s=table.agent.timeout_sec or toml.agent.timeout_sec or Step.timeout_s,
        verifier_timeout_s=table.verifier.timeout_sec or toml.verifier.timeout_sec or Step.verifier_timeout_s,
        min_reward=table.min_reward,
    )


def _options(*verifiers: Verifier) -> dict[str, Any]:
    env = {name: value for verifier in verifiers for name, value in verifier.env.items()}
    return {"env": env} if env else {}


def _all_prompts(steps: tuple[Step, ...]) -> str:
    """Of all steps, for whoever looks at the task as a whole; an agent is told one at a time."""
    return "\n\n".join(f"Step {at} of {len(steps)}:\n{step.prompt}" for at, step in enumerate(steps, start=1))


def _all_tests(steps: tuple[Step, ...]) -> dict[str, Path]:
    return {f"{step.name}/{path}": source for step in steps for path, source in step.tests.items()}


def _tests(own: Path, shared: Path | None = None) -> dict[str, Path]:
    """The tests of a folder, over those that all steps share."""
    found: dict[str, Path] = {}
    for folder in (shared, own):
        if folder is not None:
            found |= {inside_path(path): source for path, source in _walk(folder / "tests")}
    if _TEST not in found:
        msg = f"{own / 'tests' / _TEST}: is missing: it must write /logs/verifier/reward.txt or reward.json"
        raise TaskError(msg)
    return dict(sorted(found.items()))


def _solution(folder: Path) -> Mapping[str, Path]:
    solution = {inside_path(path): source for path, source in _walk(folder / "solution")}
    return solution if SOLVE in solution else {}


def _environment(folder: Path, toml: Toml) -> Environment:
    given = toml.environment
    build = folder / "environment"
    return Environment(
        image=given.docker_image,
        build=build if (build / "Dockerfile").is_file() else None,
        build_timeout_s=given.build_timeout_sec,
        workdir=given.workdir,
        memory_bytes=given.memory_bytes,
        cpus=given.cpus,
        artifacts=toml.paths,
    )


def _prompt(folder: Path) -> str:
    file = folder / "instruction.md"
    try:
        prompt = file.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8").strip()
    except FileNotFoundError as error:
        msg = f"{file}: is missing: it is the prompt"
        raise TaskError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{file}: is not UTF-8: save it as UTF-8"
        raise TaskError(msg) from error
    if not prompt:
        msg = f"{file}: is empty: it is the prompt"
        raise TaskError(msg)
    return prompt


def _workspace_files(folder: Path, *, build_files: bool = True) -> dict[str, Path]:
    """What an agent is given; `build_files`: some of it only makes the machine, and some is a skill."""
    files = {}
    for path, source in _walk(folder):
        first, _, rest = path.partition("/")
        if build_files and (_NOT_FILES.fullmatch(path) or (first == "skills" and rest)):
            continue
        try:
            files[workspace_path(path)] = source
        except ValueError as error:
            raise TaskError(f"{folder}: {error}") from error
    return files


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    """Regular files below a folder by relative path; a link is refused, since its target is not the task's own."""
    for found in sorted(folder.rglob("*")):
        if found.is_symlink() or not (found.is_file() or found.is_dir()):
            msg = f"{found}: is a link or a special file: put a regular file there"
            raise TaskError(msg)
        if found.is_file():
            yield found.relative_to(folder).as_posix(), found
