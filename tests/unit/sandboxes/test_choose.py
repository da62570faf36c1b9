from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sandboxes.choose import Choice, choose_engine
from sandboxes.sandbox import EngineFacts, SandboxError


class Engine:
    def __init__(self, name: str, told: EngineFacts | Exception) -> None:
        self.name = name
        self._told = told

    async def facts(self) -> EngineFacts:
        if isinstance(self._told, Exception):
            raise self._told
        return self._told


GOOD = EngineFacts("docker", "1", "sha256:a", isolated=True)
WEAKER = EngineFacts("bubblewrap", "1", "host", isolated=True, lacks=("no seccomp filter",))
BARE = EngineFacts("process", "1", "host", isolated=False, lacks=("no isolation at all", "no limits"))
BROKEN = SandboxError("start dockerd")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Says what each engine answers on this machine."""

    def install(docker: Any = GOOD, bubblewrap: Any = WEAKER, process: Any = BARE) -> None:
        monkeypatch.setattr("sandboxes.docker.DockerSandbox", lambda *_, **__: Engine("docker", docker))
        monkeypatch.setattr("sandboxes.bubblewrap.BubblewrapSandbox", lambda *_, **__: Engine("bubblewrap", bubblewrap))
        monkeypatch.setattr("sandboxes.process.ProcessSandbox", lambda *_, **__: Engine("process", process))

    return install


async def choose(preference: Any) -> Choice:
    return await choose_engine(preference, image="i", rootfs=None, owner="me")


async def test_the_best_is_taken_without_a_word(machine: Callable[..., None]) -> None:
    machine()

    assert await choose("auto") is not None
    choice = await choose("auto")
    assert (choice.sandbox.name, choice.reasons) == ("docker", ())


async def test_each_step_down_is_said(machine: Callable[..., None]) -> None:
    machine(docker=BROKEN)
    choice = await choose("auto")

    assert choice.sandbox.name == "bubblewrap"
    assert choice.reasons[0] == "docker is not used: start dockerd"
    assert "no seccomp filter" in choice.reasons[1]

    machine(docker=BROKEN, bubblewrap=SandboxError("install bubblewrap"))
    choice = await choose("auto")

    assert choice.sandbox.name == "process"
    assert choice.reasons[1] == "bubblewrap is not used: install bubblewrap"
    assert "NOT ISOLATED" in choice.reasons[2]
    assert "no isolation at all; no limits" in choice.reasons[2]


async def test_an_engine_that_hangs_is_passed_over(
    machine: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(docker=TimeoutError())

    assert (await choose("auto")).reasons[0] == "docker is not used: no answer"


async def test_docker_with_a_weak_kernel_says_so(machine: Callable[..., None]) -> None:
    machine(docker=EngineFacts("docker", "1", "sha256:a", isolated=True, lacks=("no swap limit",)))

    assert (await choose("auto")).reasons == ("docker lacks: no swap limit",)


@pytest.mark.parametrize("name", ["docker", "bubblewrap", "process"])
async def test_a_named_engine_is_taken_or_refused(machine: Callable[..., None], name: str) -> None:
    machine()
    assert (await choose(name)).sandbox.name == name

    machine(**{name: SandboxError("remedy")})
    with pytest.raises(SandboxError, match=f"engine = '{name}' cannot be used: remedy"):
        await choose(name)


async def test_an_unknown_engine_is_refused(machine: Callable[..., None]) -> None:
    machine()

    with pytest.raises(SandboxError, match="auto, docker, bubblewrap or process"):
        await choose("podman")
