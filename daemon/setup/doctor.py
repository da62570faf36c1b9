"""`honed doctor`: could the main job run here, with this configuration? Looks, and changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from daemon.config import Config, ConfigError, ModelSection, load_config
from daemon.places import state_folder
from daemon.publishing.check import publish_check
from daemon.setup.check import Check, can_run, guarded
from daemon.setup.check_gateway import gateway_check
from daemon.setup.check_provider import provider_check
from daemon.setup.check_signing import signing_check
from daemon.setup.checks_job import key_check, repository_check, state_check, tasks_check
from daemon.setup.checks_machine import (
    cli_check,
    disk_check,
    engine_check,
    git_check,
    image_check,
    python_check,
)
from daemon.setup.engine import find_docker
from daemon.setup.home import honed_home
from daemon.setup.machine import Machine, ThisMachine
from daemon.tasks.scorers.registry import needs_sandbox
from daemon.tasks.task import TaskSet, runs_scripts
from daemon.wiring import is_simulated
from sandboxes.image.recipe import SANDBOX_IMAGE
from sandboxes.sandbox import MIB

__all__ = ["Check", "can_run", "run_checks"]


async def run_checks(
    file: Path | None, *, online: bool = False, home: Path | None = None, machine: Machine | None = None
) -> tuple[Check, ...]:
    """All rows, in a fixed order; a row fails exactly when the main job could not run with the file.

    `file` None looks at the machine alone, as the demo would use it; `online` also asks the providers.
    """
    home = home or honed_home()
    machine = machine or ThisMachine(home)
    first, config = await _config(file)
    job, tasks = await _job_rows(config, online=online) if config else ([], None)
    return (*first, *await _machine_rows(config, tasks, home, machine), *job)


async def _config(file: Path | None) -> tuple[tuple[Check, ...], Config | None]:
    if file is None:
        return (), None
    try:
        config = await asyncio.to_thread(load_config, file)
    except ConfigError as error:
        remedy = "mend the file" if await asyncio.to_thread(file.is_file) else "honed init"
        return (Check("config", "fail", str(error), remedy),), None
    return (Check("config", "ok", str(config.file)),), config


async def _machine_rows(
    config: Config | None, tasks: TaskSet | None, home: Path, machine: Machine
) -> tuple[Check, ...]:
    needed = needs_box(config, tasks)
    docker, bubblewrap = await asyncio.gather(find_docker(machine), machine.probe_bubblewrap())
    row, engine = engine_check(
        config.sandbox.engine if config else "auto",
        docker=docker,
        bubblewrap=bubblewrap,
        needed=needed,
        unsandboxed_ok=config is None or config.sandbox.allow_unsandboxed or is_simulated(config.target),
    )
    image, runtime = (config.sandbox.image, config.sandbox.runtime) if config else (None, None)
    harness = config.target.harness if config else None
    folder = state_folder(config) if config else home
    workers, megabytes = (config.sandbox.workers, config.sandbox.workspace_mb) if config else (1, 1)
    first = await _gather(("python", python_check()), ("git", git_check()))
    rest = await _gather(
        (
            "image",
            image_check(engine, image or SANDBOX_IMAGE, home=home, own=image is None, needed=needed, runtime=runtime),
        ),
        ("codex", cli_check("codex", home, needed=harness == "codex")),
        ("claude-code", cli_check("claude", home, needed=harness == "claude-code")),
        ("gateway", gateway_check()),
        ("disk", disk_check(folder, attempts=workers, attempt_bytes=megabytes * MIB)),
    )
    return (*first, row, *rest)


def needs_box(config: Config | None, tasks: TaskSet | None) -> bool:
    """True if anything runs in a box: an agent's CLI, a chat model's scripts, or a scorer's commands."""
    if config is None or config.target.harness != "chat":
        return True
    return tasks is not None and any(needs_sandbox(task) or runs_scripts(task) for task in tasks.tasks)


async def _job_rows(config: Config, *, online: bool) -> tuple[list[Check], TaskSet | None]:
    found: list[TaskSet] = []

    async def tasks() -> Check:
        row, loaded = await tasks_check(config)
        if loaded is not None:
            found.append(loaded)
        return row

    sections: dict[str, ModelSection] = {"target": config.target, "optimizer": config.optimizer}
    if config.judge is not None:
        sections["judge"] = config.judge
    work: list[tuple[str, Awaitable[Check]]] = [
        ("repository", repository_check(config)),
        ("signing", signing_check(config)),
        ("tasks", tasks()),
        ("state", state_check(config)),
        ("publish", publish_check(config, online=online)),
        *((f"key {name}", key_check(name, section)) for name, section in sections.items()),
    ]
    if online:
        work += [(f"provider {name}", provider_check(name, section)) for name, section in sections.items()]
    rows = await _gather(*work)
    return list(rows), found[0] if found else None


async def _gather(*work: tuple[str, Awaitable[Check]]) -> tuple[Check, ...]:
    return tuple(await asyncio.gather(*(guarded(name, check) for name, check in work)))
