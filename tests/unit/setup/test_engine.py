"""Which engine set-up ends with on each kind of machine, what it does to get there, and what it says."""

from __future__ import annotations

import pytest

from daemon.setup.docker_ping import Pong
from daemon.setup.engine import EngineReport, ensure_engine
from daemon.setup.machine import FakeMachine

SOCKET = "unix:///fake/docker.sock"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("HONED_INSTALL_ENGINE", raising=False)
    monkeypatch.setattr("sandboxes.engine_socket.DEFAULT_ADDRESS", SOCKET)


async def _ensure(machine: FakeMachine) -> tuple[EngineReport, str]:
    said: list[str] = []
    report = await ensure_engine(machine, said.append)
    return report, "\n".join(said)


async def test_a_running_engine_is_used_and_nothing_is_said_or_done() -> None:
    machine = FakeMachine(engines={SOCKET: Pong("20.10")})
    report, said = await _ensure(machine)
    assert report == EngineReport("docker", SOCKET, "20.10", "running")
    assert (machine.done, said) == ([], "")


async def test_docker_host_is_the_engine_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://build.example:2375")
    machine = FakeMachine(engines={"tcp://build.example:2375": Pong("28"), SOCKET: Pong("20.10")})
    report, _ = await _ensure(machine)
    assert (report.address, report.version) == ("tcp://build.example:2375", "28")


async def test_a_fresh_debian_gets_docker_installed_and_started() -> None:
    machine = FakeMachine()
    report, said = await _ensure(machine)
    assert machine.done == ["install docker.io", "start docker"]
    assert report == EngineReport("docker", SOCKET, "1.2.3", "installed")
    assert "installing docker.io (HONED_INSTALL_ENGINE=0 declines it)" in said


async def test_an_installed_engine_is_started_without_installing() -> None:
    machine = FakeMachine(programs={"dockerd"}, can_install=False)
    report, _ = await _ensure(machine)
    assert machine.done == ["start docker"]
    assert report.how == "started"


async def test_an_engine_that_the_package_itself_started_is_not_started_twice() -> None:
    class Debian(FakeMachine):
        async def install(self, packages: object, say: object) -> str | None:
            self.engines[SOCKET] = Pong("1")
            return await super().install(packages, say)  # type: ignore[arg-type]

    machine = Debian()
    report, _ = await _ensure(machine)
    assert machine.done == ["install docker.io"]
    assert report.engine == "docker"


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (FakeMachine(is_root=False, can_install=False), "as root"),
        (FakeMachine(can_install=False), "neither Debian nor Ubuntu"),
        (FakeMachine(install_error="apt-get failed: no space left"), "no space left"),
        (FakeMachine(programs={"dockerd"}, start_error="no answer within 60 s; cgroups"), "cgroups"),
    ],
    ids=["not root", "not Debian", "apt fails", "dockerd fails"],
)
async def test_without_docker_bubblewrap_is_used_aloud(machine: FakeMachine, why: str) -> None:
    machine.programs |= {"bwrap", "socat"}
    report, said = await _ensure(machine)
    assert (report.engine, report.how, report.address) == ("bubblewrap", "fallback", None)
    assert why in report.why_not_docker
    assert "FALLING BACK to the bubblewrap engine" in said
    assert all(line in said for line in report.lacks)
    assert report.lacks


async def test_missing_bubblewrap_is_installed() -> None:
    machine = FakeMachine(programs={"dockerd", "socat"}, start_error="refused")
    report, _ = await _ensure(machine)
    assert machine.done == ["start docker", "install bubblewrap"]
    assert report.engine == "bubblewrap"


async def test_where_even_namespaces_are_refused_plain_processes_are_left_aloud() -> None:
    machine = FakeMachine(programs={"bwrap", "socat"}, is_root=False, bubblewrap_error="Operation not permitted")
    report, said = await _ensure(machine)
    assert report.engine == "process"
    assert "bubblewrap is not used: Operation not permitted" in said
    assert "allow_unsandboxed" in said


async def test_declining_installs_and_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HONED_INSTALL_ENGINE", "0")
    machine = FakeMachine(programs={"dockerd"})
    report, said = await _ensure(machine)
    assert machine.done == []
    assert report.engine == "process"
    assert "HONED_INSTALL_ENGINE=0" in report.why_not_docker
    assert "HONED_INSTALL_ENGINE=0" in said


async def test_declining_still_uses_an_engine_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HONED_INSTALL_ENGINE", "0")
    report, _ = await _ensure(FakeMachine(engines={SOCKET: Pong("20.10")}))
    assert report.engine == "docker"


async def test_an_unreachable_docker_host_is_not_replaced_by_another_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://build.example:2375")
    machine = FakeMachine(engines={SOCKET: Pong("20.10")}, programs={"dockerd", "bwrap", "socat"})
    report, _ = await _ensure(machine)
    assert machine.done == []
    assert report.engine == "bubblewrap"
    assert "DOCKER_HOST" in report.why_not_docker
