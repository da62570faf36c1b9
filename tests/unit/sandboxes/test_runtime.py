"""A stronger runtime is taken or refused, with the key's name."""

from __future__ import annotations

import pytest

from daemon.rollouts.attempt import AttemptSettings
from sandboxes.choose import choose_engine
from sandboxes.docker import _check_runtime
from sandboxes.sandbox import SandboxError

INFO = {"Runtimes": {"runc": {}, "runsc": {}}}


@pytest.mark.parametrize("runtime", [None, "runsc", "io.containerd.kata.v2"])
def test_what_the_engine_has_is_taken(runtime: str | None) -> None:
    _check_runtime(INFO, runtime)


@pytest.mark.parametrize("info", [INFO, {}])
def test_what_it_has_not_is_refused_by_name(info: dict[str, object]) -> None:
    with pytest.raises(SandboxError, match=r"\[sandbox\] runtime = 'kata-runtime' is not known"):
        _check_runtime(info, "kata-runtime")


@pytest.mark.parametrize("engine", ["bubblewrap", "process"])
async def test_another_engine_has_none(engine: str) -> None:
    with pytest.raises(SandboxError, match="for Docker alone"):
        await choose_engine(engine, image="i", rootfs=None, owner="me", runtime="runsc")  # type: ignore[arg-type]


async def test_no_engine_is_a_step_down_from_a_named_runtime() -> None:
    with pytest.raises(SandboxError, match="engine = 'docker' cannot be used"):
        await choose_engine(
            "auto", image="i", rootfs=None, owner="me", docker_url="unix:///nonexistent/docker.sock", runtime="runsc"
        )


def test_it_is_part_of_an_attempts_key_only_where_it_is_set() -> None:
    assert "runtime" not in AttemptSettings().key_part()
    assert AttemptSettings(runtime="runsc").key_part()["runtime"] == "runsc"
