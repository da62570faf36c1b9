"""The sandbox image in a Docker engine: found, built from its Dockerfile, or made with debootstrap.

Invariant: the tag is set only on a complete image, by the engine itself; a killed set-up leaves no image under it.
"""

from __future__ import annotations

import asyncio
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import docker
from docker.errors import ImageNotFound

from sandboxes.engine_client import ENGINE_ERRORS, connect
from sandboxes.image import archive, recipe
from sandboxes.image.command import Say
from sandboxes.image.debootstrap import ImageError, debootstrap
from sandboxes.image.scratch import set_up_lock, temporary_folder
from sandboxes.image.tree import write_tar
from sandboxes.sandbox import SandboxError

_REGISTRY_TIMEOUT_S = 20
"""For the registry's first answer; a download that goes on may take as long as it needs."""
_ENGINE_TIMEOUT_S = 600


@dataclass(frozen=True)
class ImageFacts:
    """The image an engine has."""

    tag: str
    digest: str
    """The engine's id of it, `sha256:…`."""
    how: Literal["present", "built", "debootstrap"]


class _RegistryError(Exception):
    """The base image could not be pulled, or the build on it failed; `str()` is one line."""


async def image_status(docker_base_url: str, *, image: str = recipe.SANDBOX_IMAGE) -> ImageFacts | None:
    """What the engine has under `image`, or None; raises `ImageError` if the engine does not answer."""
    return await asyncio.to_thread(_inspect, docker_base_url, image, "present")


async def ensure_image(
    docker_base_url: str, *, home: Path, say: Say, may_install: bool = True, registry: bool = True
) -> ImageFacts:
    """Bring honed's image to the engine and tell which it is; raises `ImageError` with the remedy.

    `may_install` lets debootstrap itself be installed; `registry=False` goes to debootstrap at once.
    """
    if found := await image_status(docker_base_url):
        return found
    async with set_up_lock(home, "image", say):
        if found := await image_status(docker_base_url):
            return found
        refusal = await _try_registry(docker_base_url, say) if registry else "not asked"
        if refusal is None:
            return await _made(docker_base_url, "built")
        try:
            await _from_debootstrap(docker_base_url, home, say, may_install=may_install)
        except ImageError as error:
            msg = f"no sandbox image: {recipe.base_image()} from a registry: {refusal}; {error}"
            raise ImageError(msg) from error
    return await _made(docker_base_url, "debootstrap")


async def _made(base_url: str, how: Literal["built", "debootstrap"]) -> ImageFacts:
    facts = await asyncio.to_thread(_inspect, base_url, recipe.SANDBOX_IMAGE, how)
    if facts is None:
        msg = f"the engine took {recipe.SANDBOX_IMAGE} but does not show it: check its log"
        raise ImageError(msg)
    return facts


async def _try_registry(base_url: str, say: Say) -> str | None:
    """None where the image was built; else why not, said aloud."""
    try:
        await asyncio.to_thread(_build, base_url, say)
    except _RegistryError as error:
        say(f"{recipe.base_image()} cannot be used from a registry ({error}); falling back to debootstrap")
        return str(error)
    return None


async def _from_debootstrap(base_url: str, home: Path, say: Say, *, may_install: bool) -> None:
    async with temporary_folder(home / "image") as folder:
        tree, layer, file = folder / "tree", folder / "layer.tar", folder / "image.tar"
        await debootstrap(tree, say, may_install=may_install)
        diff_id = await asyncio.to_thread(write_tar, tree, layer)
        await asyncio.to_thread(archive.write_image, layer, diff_id, file)
        say("debootstrap: loading the image into the engine")
        await asyncio.to_thread(_load, base_url, file)


def _client(base_url: str, timeout_s: float = _ENGINE_TIMEOUT_S) -> docker.DockerClient:
    return docker.DockerClient(base_url=base_url, version="auto", timeout=cast("int", timeout_s))


def _inspect(base_url: str, image: str, how: Literal["present", "built", "debootstrap"]) -> ImageFacts | None:
    try:
        client = connect(base_url)
    except SandboxError as error:
        msg = f"{error}; run `honed setup`"
        raise ImageError(msg) from error
    try:
        return ImageFacts(image, str(client.images.get(image).id), how)
    except ImageNotFound:
        return None
    except ENGINE_ERRORS as error:
        msg = f"the Docker engine at {base_url} cannot tell about {image}: {error}"
        raise ImageError(msg) from error
    finally:
        client.close()


def _build(base_url: str, say: Say) -> None:
    base = recipe.base_image()
    try:
        with_timeout = _client(base_url, _REGISTRY_TIMEOUT_S)
        try:
            _pull(with_timeout, base, say)
        finally:
            with_timeout.close()
        client = _client(base_url, 1800)
        try:
            say(f"building {recipe.SANDBOX_IMAGE} on {base}")
            client.images.build(
                fileobj=io.BytesIO(recipe.build_context()),
                custom_context=True,
                target="sandbox",
                tag=recipe.SANDBOX_IMAGE,
                buildargs={recipe.BASE_ARG: base},
                labels=recipe.labels(),
                network_mode="host",
                rm=True,
                forcerm=True,
            )
        finally:
            client.close()
    except ENGINE_ERRORS as error:
        raise _RegistryError(_one_line(error)) from error


def _pull(client: docker.DockerClient, base: str, say: Say) -> None:
    """Pull unless it is there; the low-level call, since the other one swallows errors in the stream."""
    try:
        client.images.get(base)
    except ImageNotFound:
        say(f"asking the registry for {base}")
    else:
        return
    name, _, tag = base.rpartition(":")
    for event in client.api.pull(name, tag=tag, stream=True, decode=True):
        if "error" in event:
            raise _RegistryError(_one_line(event["error"]))


def _load(base_url: str, file: Path) -> None:
    client = _client(base_url)
    try:
        with file.open("rb") as data:
            client.images.load(data)
    except ENGINE_ERRORS as error:
        msg = f"the engine did not take the image: {_one_line(error)}; check its disk (`docker system df`)"
        raise ImageError(msg) from error
    finally:
        client.close()


def _one_line(error: object) -> str:
    explanation = getattr(error, "explanation", None)
    return " ".join(str(explanation or error).split())[:300]
