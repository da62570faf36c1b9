"""Harbor task folders: `task.toml`, `instruction.md`, `environment/`, `tests/test.sh`.

Where there is a Dockerfile or a `docker_image`, that image is what agents and tests run in (`daemon.tasks.images`), and
its working directory is the workspace. Without one, the files under `environment/` are, apart from Dockerfiles, compose
files and `environment/skills/` (the skill being honed is the only one an agent gets). `solution/` is for
`honed tasks check` alone. honed's own keys (split, group, weight, protect) live in `[metadata]`. What honed cannot
honour is an error, not a silent difference.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from daemon.tasks.formats.found import Found, attempt
from daemon.tasks.formats.paths import check_task_id, inside_path, workspace_path
from daemon.tasks.task import MAX_WEIGHT, SOLVE, Environment, ScorerSpec, Split, Task, TaskError
from sandboxes.sandbox import MIB

_NOT_FILES = re.compile(r"(?i)(.*\.)?dockerfile(\..*)?|(docker-)?compose.*\.ya?ml|\.dockerignore")
_HOST_VARIABLE = re.compile(r"\$\{?[A-Za-z_]")


class _Part(BaseModel):
    """Harbor adds keys in every version: those honed does not use are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class _Metadata(_Part):
    split: Split | None = None
    group: str | None = Field(default=None, max_length=200)
    category: str | None = None
    weight: float = Field(default=1.0, gt=0, le=MAX_WEIGHT, allow_inf_nan=False)
    protect: bool = False


class _Phase(_Part):
    timeout_sec: float | None = Field(default=None, gt=0, le=7 * 86_400, allow_inf_nan=False)


class _Verifier(_Phase):
    env: dict[str, str] = Field(default_factory=dict)


class _Environment(_Part):
    docker_image: str | None = None
    mcp_servers: list[Any] = Field(default_factory=list)
    build_timeout_sec: float = Field(default=600.0, gt=0, le=7 * 86_400, allow_inf_nan=False)
    cpus: float | None = Field(default=None, gt=0, le=1024, allow_inf_nan=False)
    memory_mb: int | None = Field(default=None, gt=0)
    memory: str | None = Field(default=None, pattern=r"^\d{1,6}(\.\d{1,3})? ?[KMGT]i?B?$")
    allow_internet: bool = True

    @property
    def memory_bytes(self) -> int | None:
        """From either of its two spellings."""
        if self.memory_mb is not None:
            return self.memory_mb * MIB
        if self.memory is None:
            return None
        number, unit = re.findall(r"[\d.]+|[KMGT]", self.memory)
        return int(float(number) * 1024 ** (1 + "KMGT".index(unit)))


class _Toml(_Part):
    metadata: _Metadata = _Metadata()
    agent: _Phase = _Phase()
    verifier: _Verifier = _Verifier()
    environment: _Environment = _Environment()
    steps: list[Any] = Field(default_factory=list)
    artifacts: list[str | dict[str, Any]] = Field(default_factory=list)


def is_harbor(path: Path) -> bool:
    """Whether a folder is a Harbor task or holds some."""
    return (path / "task.toml").is_file() or any(path.glob("*/task.toml"))


def scan_harbor(path: Path) -> Iterator[Found]:
    """Every folder's task or fault, at `…/name/task.toml`, ordered by folder name."""
    folders = [path] if (path / "task.toml").is_file() else sorted(found.parent for found in path.glob("*/task.toml"))
    for folder in folders:
        yield attempt(str(folder / "task.toml"), partial(_task, folder))


def _task(folder: Path) -> Task:
    where = folder / "task.toml"
    toml = _toml(where)
    _refuse_unsupported(where, toml)
    if not (folder / "tests" / "test.sh").is_file():
        msg = f"{folder / 'tests' / 'test.sh'}: is missing: it must write /logs/verifier/reward.txt or reward.json"
        raise TaskError(msg)
    options: dict[str, Any] = {"env": toml.verifier.env} if toml.verifier.env else {}
    if toml.environment.docker_image:
        options["docker_image"] = toml.environment.docker_image
    environment = _environment(folder, toml)
    solution = {inside_path(path): source for path, source in _walk(folder / "solution")}
    try:
        task_id = check_task_id(folder.resolve().name)
    except ValueError as error:
        raise TaskError(f"{where}: the folder's name {error}") from error
    defaults = Task(id=task_id, prompt=_prompt(folder), scorer=ScorerSpec("test_script", options))
    return Task(
        id=task_id,
        prompt=defaults.prompt,
        scorer=defaults.scorer,
        files=_workspace_files(folder / "environment"),
        tests={inside_path(path): source for path, source in _walk(folder / "tests")},
        split=toml.metadata.split,
        group=toml.metadata.group or toml.metadata.category or "",
        weight=toml.metadata.weight,
        protect=toml.metadata.protect,
        timeout_s=toml.agent.timeout_sec or defaults.timeout_s,
        verifier_timeout_s=toml.verifier.timeout_sec or defaults.verifier_timeout_s,
        solution=solution if SOLVE in solution else {},
        environment=environment if environment.build or environment.image else None,
    )


def _environment(folder: Path, toml: _Toml) -> Environment:
    given = toml.environment
    build = folder / "environment"
    return Environment(
        image=given.docker_image,
        build=build if (build / "Dockerfile").is_file() else None,
        build_timeout_s=given.build_timeout_sec,
        memory_bytes=given.memory_bytes,
        cpus=given.cpus,
        wants_network=given.allow_internet,
        artifacts=tuple(one if isinstance(one, str) else str(one.get("source", "")) for one in toml.artifacts),
    )


def _toml(file: Path) -> _Toml:
    try:
        return _Toml.model_validate(tomllib.loads(file.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8")))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        msg = f"{file}: {'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        raise TaskError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{file}: is not TOML: {error}"
        raise TaskError(msg) from error


def _refuse_unsupported(where: Path, toml: _Toml) -> None:
    if toml.steps:
        msg = (
            f"{where}: steps: an attempt is one run of an agent and one verifier, and a later step goes on where the "
            "earlier one ended: make each step a task of its own, with what it starts from under environment/"
        )
        raise TaskError(msg)
    if toml.environment.mcp_servers:
        msg = f"{where}: environment.mcp_servers: are not supported: the sandbox has no way out to them"
        raise TaskError(msg)
    for name, value in toml.verifier.env.items():
        if _HOST_VARIABLE.search(value):
            msg = f"{where}: verifier.env.{name}: variables of the host are not passed to tests: write the value out"
            raise TaskError(msg)


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


def _workspace_files(folder: Path) -> dict[str, Path]:
    files = {}
    for path, source in _walk(folder):
        first, _, rest = path.partition("/")
        if _NOT_FILES.fullmatch(path) or (first == "skills" and rest):
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
