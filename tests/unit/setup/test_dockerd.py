"""What is removed before dockerd is started, and what never is."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.setup.docker_ping import Pong
from daemon.setup.dockerd import DockerdPlaces, clear_stale, listens, log_end, process_name, running_pid, start
from daemon.setup.machine import ThisMachine
from tests.support.waiting import PATIENCE_S


def _places(folder: Path) -> DockerdPlaces:
    return DockerdPlaces(
        log=folder / "dockerd.log",
        socket=folder / "docker.sock",
        pid_file=folder / "docker.pid",
        exec_root=folder / "exec",
        data_root=folder / "data",
        system_containerd=folder / "containerd.sock",
    )


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A running process whose name is `dockerd`."""
    program = tmp_path / "dockerd"
    program.symlink_to(shutil.which("sleep") or "/bin/sleep")
    with subprocess.Popen([str(program), "600"]) as process:
        yield process
        process.kill()


def _dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_process_names(sleeper: subprocess.Popen[bytes]) -> None:
    assert process_name(sleeper.pid) == "dockerd"
    assert process_name(_dead_pid()) is None


def test_a_zombie_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text("7 (dockerd) Z 1 7 7 0\n")
    (tmp_path / "8").mkdir()
    (tmp_path / "8" / "stat").write_text("8 (a (b) c) S 1 8 8 0\n")
    assert process_name(7, tmp_path) is None
    assert process_name(8, tmp_path) == "a (b) c"


def test_the_pid_file_of_a_running_dockerd_stays(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    places = _places(tmp_path)
    places.pid_file.write_text(f"{sleeper.pid}\n")
    said: list[str] = []
    clear_stale(places, said.append)
    assert places.pid_file.exists()
    assert said == []


@pytest.mark.parametrize("content", ["dead", "reused", "garbage"])
def test_a_stale_pid_file_goes(tmp_path: Path, content: str) -> None:
    places = _places(tmp_path)
    text = {"dead": str(_dead_pid()), "reused": str(os.getpid()), "garbage": "x"}[content]
    places.containerd_pid_file.parent.mkdir(parents=True)
    for file in (places.pid_file, places.containerd_pid_file):
        file.write_text(text)
    said: list[str] = []
    clear_stale(places, said.append)
    assert not places.pid_file.exists()
    assert not places.containerd_pid_file.exists()
    assert len(said) == 2
    assert str(places.pid_file) in said[0]


def test_no_files_no_words(tmp_path: Path) -> None:
    said: list[str] = []
    clear_stale(_places(tmp_path), said.append)
    assert said == []
    assert running_pid(tmp_path / "none", "dockerd") is None


def test_a_containerd_socket_goes_only_if_nobody_listens(tmp_path: Path) -> None:
    places = _places(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(places.system_containerd))
        server.listen()
        clear_stale(places, lambda _: None)
        assert places.system_containerd.is_socket()
        assert listens(places.system_containerd)
    clear_stale(places, lambda _: None)
    assert not places.system_containerd.exists()


def test_the_engine_is_started_without_network_at_its_places(tmp_path: Path) -> None:
    command = _places(tmp_path).command()
    assert command[0] == "dockerd"
    assert {"--bridge=none", "--iptables=false", "--ip6tables=false"} <= set(command)
    assert f"--host=unix://{tmp_path}/docker.sock" in command
    assert f"--pidfile={tmp_path}/docker.pid" in command


def test_the_log_tells_what_failed(tmp_path: Path) -> None:
    places = _places(tmp_path)
    assert log_end(places) == "no log"
    places.log.write_text('level=info msg="up"\nfailed to start daemon: no cgroups\nlevel=info msg="bye"\n')
    assert log_end(places) == "failed to start daemon: no cgroups"


async def test_a_dockerd_that_dies_is_told_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "dockerd"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\necho "failed to start daemon: $OPENAI_API_KEY no cgroups"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    machine = ThisMachine(tmp_path, wait_s=1_000, places=_places(tmp_path))
    said: list[str] = []
    async with asyncio.timeout(PATIENCE_S):  # its death is seen, not waited out
        error = await machine.start_docker(said.append)
    assert error is not None
    assert "failed to start daemon:" in error
    assert str(tmp_path / "dockerd.log") in error
    assert "sk-secret" not in (tmp_path / "dockerd.log").read_text(), "the engine lives on: it gets no key of ours"
    assert any("starting dockerd" in line for line in said)


async def test_an_engine_coming_up_is_waited_for_not_started_again(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    places = _places(tmp_path)
    places.pid_file.write_text(str(sleeper.pid))
    said: list[str] = []
    error = await ThisMachine(tmp_path, wait_s=0.3, places=places).start_docker(said.append)
    assert said == ["dockerd is running but does not answer yet: waiting for it"]
    assert error is not None
    assert not places.log.exists(), "no second dockerd was started"
    assert sleeper.poll() is None


async def test_ours_is_started_when_one_that_was_coming_up_dies(
    tmp_path: Path, sleeper: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = _places(tmp_path)
    places.pid_file.write_text(str(sleeper.pid))
    fake = tmp_path / "bin" / "dockerd"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho ours started; touch {tmp_path}/ours; exec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")

    class Machine(ThisMachine):
        async def ping(self, address: str) -> Pong | str:
            sleeper.kill()
            sleeper.wait()
            return Pong("1") if (tmp_path / "ours").exists() else "nobody listens there"

    said: list[str] = []
    assert await Machine(tmp_path, wait_s=PATIENCE_S, places=places).start_docker(said.append) is None
    assert said[0].startswith("dockerd is running but does not answer yet")
    assert said[1] == "the dockerd that was coming up has ended"
    assert said[-1].startswith("starting dockerd without a network bridge")


async def test_the_engine_lives_on_in_a_session_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin" / "dockerd"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    pid = await start(_places(tmp_path), lambda _: None)
    assert pid is not None
    try:
        assert os.getsid(pid) != os.getsid(0)
        assert os.getpgid(pid) != os.getpgid(0)
        assert f"PPid:\t{os.getpid()}\n" not in Path(f"/proc/{pid}/status").read_text()
    finally:
        os.kill(pid, signal.SIGKILL)
