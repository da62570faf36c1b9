"""The images that tasks ask for, made ready before the first attempt.

`prepare` turns a task with an `Environment` into one that runs in it: `root` names the image, and `files` hold what the
image has in the folders that a task works in. Skills that come with an image are left out: the skill being honed is the
only one an agent gets. Invariant: a task's digest stays as it was loaded, since it names what the image is made of.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from daemon.tasks.digest import build_digest
from daemon.tasks.formats.paths import workspace_path
from daemon.tasks.stored import StoredTasks
from daemon.tasks.task import Environment, Task, TaskSet, start_in
from sandboxes.sandbox import Root, Sandbox, SandboxError

if TYPE_CHECKING:
    from sandboxes.image.task_image import TaskImage

TAG = "honed-task"
_SKILL = re.compile(r"(?:^|.*/)skills?/[^/]+/SKILL\.md", re.IGNORECASE)


async def prepare(task: Task, address: str, folder: Path) -> Task:
    """The task in its own image; one that asks for none as it is. Raises `ImageError` naming file and remedy.

    `folder` keeps what was copied out of the image, and must be there for as long as the task is used.
    """
    if task.environment is None:
        return task
    image = await _image(task.environment, address)
    files = without_skills(image.files, start_in(image.root))
    laid = await asyncio.to_thread(_keep, files, folder / image.root.image.removeprefix("sha256:")[:24])
    make = tuple(path for path in image.root.make if not any(_within(path, one) for one in _skill_folders(image.files)))
    root = replace(image.root, make=tuple(path for path in make if _allowed(path, start_in(image.root))))
    return replace(task, files=laid, root=with_artifacts(root, task.environment.artifacts))


async def in_own_images(tasks: TaskSet, sandbox: Sandbox | None, address: str | None, folder: Path) -> TaskSet:
    """The set with every image ready; raises `SandboxError` for a task whose image this engine cannot run.

    `sandbox` is what attempts and tests run in; None: nothing runs, and no image is needed.
    """
    if sandbox is None or isinstance(tasks.tasks, StoredTasks):  # one file holds no environments
        return tasks
    ready = []
    for task in tasks.tasks:
        if task.environment is None:
            ready.append(task)
            continue
        if sandbox.name != "docker" or address is None:
            msg = (
                f"task {task.id} has an image of its own, which the {sandbox.name} engine cannot run: use Docker, or "
                "take its Dockerfile and docker_image away to run it in honed's own image"
            )
            raise SandboxError(msg)
        ready.append(await prepare(task, address, folder))
    return replace(tasks, tasks=tuple(ready))


async def _image(environment: Environment, address: str) -> TaskImage:
    # Docker's client library is large, and most tasks bring no image.
    from sandboxes.image.task_image import build_task_image, pull_task_image  # noqa: PLC0415

    if environment.build is not None:
        digest = await asyncio.to_thread(build_digest, environment.build)
        tag = f"{TAG}:{digest.removeprefix('sha256:')[:16]}"
        limit, start = environment.build_timeout_s, environment.workdir
        return await build_task_image(address, environment.build, tag=tag, timeout_s=limit, workdir=start)
    assert environment.image is not None, "an environment has a Dockerfile or an image"
    return await pull_task_image(address, environment.image, workdir=environment.workdir)


def with_artifacts(root: Root, artifacts: Sequence[str]) -> Root:
    """With the top-level folders of artifacts that the image itself lacks, so that an agent can write them."""
    from sandboxes.image.task_image import NESTED, is_own  # noqa: PLC0415 - see `_image`

    folders, make = dict(root.folders), list(root.make)
    for artifact in artifacts:
        parts = PurePosixPath(artifact).parts
        if len(parts) < 3 or parts[0] != "/" or ".." in parts:  # where the agent starts, or a file in `/`
            continue
        top = PurePosixPath("/", parts[1])
        if not is_own(top.name) or str(top) in folders or _within(root.workspace, str(top)):
            continue
        folders[str(top)] = f"{NESTED}/{top.name}"
        make.append(folders[str(top)])
    return replace(root, folders=folders, make=tuple(sorted(make)))


def without_skills(files: Mapping[str, bytes], start: str = "") -> dict[str, bytes]:
    """The files without folders of skills, and without those at the places where honed lays its own.

    `start` is the folder that an agent starts in, with a slash at its end: those places are in it.
    """
    folders = _skill_folders(files)
    kept = {path: data for path, data in files.items() if not any(_within(path, one) for one in folders)}
    return {path: data for path, data in kept.items() if _allowed(path, start)}


def _skill_folders(files: Mapping[str, bytes]) -> set[str]:
    """Folders that hold skills: `skills`, `.claude/skills`, ..."""
    return {path.rsplit("/", 2)[0] for path in files if _SKILL.fullmatch(path)}


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _allowed(path: str, start: str) -> bool:
    try:
        workspace_path(path)
        if path != start and path.startswith(start):
            workspace_path(path.removeprefix(start))
    except ValueError:
        return False
    return True


def _keep(files: Mapping[str, bytes], folder: Path) -> dict[str, Path]:
    """Write them down flat, by content: names of a stranger's image never become names here."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = {}
    for path, data in files.items():
        kept[path] = folder / hashlib.sha256(data).hexdigest()
        if not kept[path].exists():
            kept[path].write_bytes(data)
    return kept
