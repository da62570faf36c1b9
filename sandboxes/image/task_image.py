"""Images that tasks bring along: pulled or built once, and what of them an agent may change copied out.

A box's root is read-only and its user is not root, so the folders that a task works in are laid into the workspace
instead: its working directory, and top-level folders that no Linux has by itself (`/output`, `/data`). Everything else
of the image is there to be read. What is copied out is data of a stranger's image: regular files within bounds.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import docker
from docker.errors import APIError, BuildError, ContainerError, ImageNotFound, NotFound

from sandboxes.container import APP, LABEL_APP, LABEL_DEADLINE
from sandboxes.engine_client import ENGINE_ERRORS, connect, explain
from sandboxes.image.debootstrap import ImageError
from sandboxes.sandbox import MIB, Root

TASK_IMAGE = "honed.task-image"
"""Label of the images that are built here: `docker image prune --filter label=honed.task-image` removes them."""
NESTED = ".root"
"""Folder of the workspace that holds the top-level folders besides it."""
MAX_BYTES, MAX_FILES = 64 * MIB, 2_000
"""Of one folder: a larger one stays in the image, to be read alone."""
_OURS = "logs out solution tests"
_USUAL = frozenset(
    f"bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys tmp usr var {_OURS}".split()
)
"""What a Linux has by itself, and where boxes show what is their own."""
_BUILD_S = 3600


def is_own(name: str) -> bool:
    """A top-level folder of this name is a task's, not any Linux's."""
    return name not in _USUAL


@dataclass(frozen=True)
class TaskImage:
    """An image as boxes use it."""

    root: Root
    files: Mapping[str, bytes]
    """What the workspace holds at the start, by path in it."""
    notes: tuple[str, ...] = ()
    """What was left in the image, a line each."""


async def build_task_image(
    address: str, context: Path, *, tag: str, timeout_s: float = _BUILD_S, workdir: str | None = None
) -> TaskImage:
    """Build the Dockerfile in `context` unless `tag` is there; raises `ImageError` saying which step failed.

    `workdir`: where the task starts, if not in the image's own working directory. The build has the host's network, as
    any build has; boxes never do.
    """
    return await asyncio.to_thread(_ready, address, tag, context, timeout_s, workdir)


async def pull_task_image(address: str, reference: str, *, workdir: str | None = None) -> TaskImage:
    """The image by its reference, from the engine or its registry; raises `ImageError`. `workdir` as above."""
    return await asyncio.to_thread(_ready, address, reference, None, _BUILD_S, workdir)


def _ready(address: str, reference: str, context: Path | None, timeout_s: float, workdir: str | None) -> TaskImage:
    client = connect(address)
    client.api.timeout = int(timeout_s)
    try:
        try:
            facts = _inspect(client, reference)
        except ImageNotFound:
            _build(client, context, reference) if context else _pull(client, reference)
            facts = _inspect(client, reference)
        return _copied_out(client, facts, workdir)
    except ENGINE_ERRORS as error:
        msg = f"the image {reference}: {explain(error)}"
        raise ImageError(msg) from error
    finally:
        client.close()


def _inspect(client: docker.DockerClient, reference: str) -> dict[str, Any]:
    facts: dict[str, Any] = client.api.inspect_image(reference)  # type: ignore[no-untyped-call]
    return facts


def _build(client: docker.DockerClient, context: Path, tag: str) -> None:
    try:
        client.images.build(
            path=str(context), tag=tag, network_mode="host", rm=True, forcerm=True, labels={TASK_IMAGE: "1"}
        )
    except BuildError as error:
        said = [str(part.get("stream") or part.get("error") or "").strip() for part in error.build_log]
        step = next((line for line in reversed(said) if line.startswith("Step ")), "")
        msg = f"{context / 'Dockerfile'}: cannot be built: {step} {_one_line(error.msg)}".replace(":  ", ": ")
        raise ImageError(msg) from error
    except APIError as error:  # refused before a step ran, as where the base cannot be had
        msg = f"{context / 'Dockerfile'}: cannot be built: {_one_line(error.explanation or error)}"
        raise ImageError(msg) from error


def _pull(client: docker.DockerClient, reference: str) -> None:
    try:
        client.images.pull(*(reference.rsplit(":", 1) if ":" in reference.rsplit("/", 1)[-1] else (reference,)))
    except ENGINE_ERRORS as error:
        msg = f"the image {reference} cannot be had: {_one_line(getattr(error, 'explanation', None) or error)}"
        raise ImageError(msg) from error


def _one_line(text: object) -> str:
    return " ".join(str(text).split())[:300]


def _copied_out(client: docker.DockerClient, facts: Mapping[str, Any], start: str | None) -> TaskImage:
    config = facts.get("Config") or {}
    workdir = PurePosixPath("/", start or config.get("WorkingDir") or "/")
    if workdir == PurePosixPath("/"):
        workdir = PurePosixPath("/workspace")
    top = PurePosixPath("/", workdir.parts[1])
    workspace = workdir if top.name in _USUAL else top
    env = dict(line.split("=", 1) for line in config.get("Env") or [] if "=" in line)
    copied = _Copied()
    with _container(client, str(facts["Id"])) as container:
        copied.take(container, workspace, "")
        folders = {}
        for name in _top_level(client, str(facts["Id"])):
            if name not in _USUAL and f"/{name}" != str(workspace) and copied.take(container, PurePosixPath("/", name)):
                folders[f"/{name}"] = f"{NESTED}/{name}"
    root = Root(
        image=str(facts["Id"]),
        workspace=str(workspace),
        workdir=str(workdir),
        folders=folders,
        make=tuple(sorted(copied.folders)),
        env=env,
    )
    return TaskImage(root, copied.files, tuple(copied.notes))


@contextmanager
def _container(client: docker.DockerClient, image: str) -> Iterator[Any]:
    """A container that is never started: its file system can be read."""
    container = client.containers.create(image, ["true"], network_mode="none", labels=_labels(), entrypoint=[])
    try:
        yield container
    finally:
        container.remove(force=True)


def _top_level(client: docker.DockerClient, image: str) -> list[str]:
    """Names of the folders in `/`, as the image's own `ls` has them; none where it has no `ls`."""
    try:
        said: bytes = client.containers.run(
            image,
            ["/bin/ls", "-1p", "/"],
            entrypoint=[],
            user="65534:65534",
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            read_only=True,
            pids_limit=32,
            mem_limit=256 * MIB,
            labels=_labels(),
            remove=True,
        )
    except (APIError, ContainerError):
        return []
    return sorted(line.removesuffix("/") for line in said.decode("utf-8", "replace").split("\n") if line.endswith("/"))


def _labels() -> dict[str, str]:
    """So that a sweep takes the container if we die."""
    return {LABEL_APP: APP, LABEL_DEADLINE: f"{time.time() + _BUILD_S:.0f}"}


class _Stream(io.RawIOBase):
    """An iterator of chunks as a file that is read forward."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = b""

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; all that is left if it is negative."""
        while size < 0 or len(self._rest) < size:
            chunk = next(self._chunks, b"")
            if not chunk:
                break
            self._rest += chunk
        taken, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return taken


@dataclass
class _Copied:
    """What was copied out so far."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def take(self, container: Any, folder: PurePosixPath, under: str | None = None) -> bool:
        """Copy a folder of the image; False, with a note, where it is too large. One that is not there is empty."""
        prefix = f"{NESTED}/{folder.name}" if under is None else under
        try:
            chunks, _ = container.get_archive(str(folder), chunk_size=65536)
        except NotFound:
            return True
        files: dict[str, bytes] = {}
        folders: set[str] = set()
        with tarfile.open(fileobj=_Stream(chunks), mode="r|") as tar:
            total = 0
            for member in tar:
                path = "/".join(filter(None, (prefix, *PurePosixPath(member.name).parts[1:])))
                total += member.size if member.isfile() else 0
                if total > MAX_BYTES or len(files) > MAX_FILES:
                    self.notes.append(f"{folder} is too large to be copied: it can be read there, not written")
                    return False
                if member.isdir() and path:
                    folders.add(path)
                elif member.isfile() and (data := tar.extractfile(member)):
                    files[path] = data.read()
                elif not member.isdir():
                    self.notes.append(f"{folder}: {path} is a link or a special file: left out")
        self.files |= files
        self.folders |= folders
        return True
