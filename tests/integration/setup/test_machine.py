"""Set-up on the real machine: a Docker engine of our own, the image in the engine that runs, the real CLIs."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from daemon.setup import dockerd
from daemon.setup.clis import clis_status, pins
from daemon.setup.docker_ping import Pong, engine_address, ping
from daemon.setup.doctor import run_checks
from daemon.setup.engine import EngineReport, ensure_engine, install_allowed
from daemon.setup.home import honed_home
from daemon.setup.machine import ThisMachine
from daemon.setup.setup import set_up
from sandboxes.engine_client import connected
from sandboxes.image import recipe
from sandboxes.image.command import find_program, run_command
from sandboxes.image.image import ensure_image, image_status
from sandboxes.image.recipe import SANDBOX_IMAGE
from tests.support.sandboxes import docker_image
from tests.support.waiting import PATIENCE_S


@asynccontextmanager
async def _own_engine(machine: ThisMachine, places: dockerd.DockerdPlaces) -> AsyncIterator[ThisMachine]:
    """Ends, by their ids, the dockerd and the containerd that were started at these places."""
    try:
        yield machine
    finally:
        for file, name in ((places.pid_file, "dockerd"), (places.containerd_pid_file, "containerd")):
            if (pid := await asyncio.to_thread(dockerd.running_pid, file, name)) is not None:
                os.kill(pid, signal.SIGTERM)
                while dockerd.process_name(pid) == name:
                    await asyncio.sleep(0.05)
        # A killed dockerd leaves its data folder mounted on itself.
        while (await run_command(["umount", str(places.data_root)], timeout_s=PATIENCE_S)).code == 0:
            pass


@pytest.mark.docker
@pytest.mark.slow
async def test_an_engine_is_started_survives_a_kill_and_is_never_started_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0 or find_program("dockerd") is None:
        pytest.skip("needs root and dockerd")
    if not install_allowed():
        pytest.skip("HONED_INSTALL_ENGINE=0 declines starting an engine")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-the-engine")
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    said: list[str] = []
    with tempfile.TemporaryDirectory(prefix="honed-d-", ignore_cleanup_errors=True) as name:
        base = Path(name)
        places = dockerd.DockerdPlaces(
            log=base / "log",
            socket=base / "d.sock",
            pid_file=base / "d.pid",
            exec_root=base / "exec",
            data_root=base / "data",
        )
        monkeypatch.setattr("sandboxes.engine_socket.DEFAULT_ADDRESS", places.address)
        async with _own_engine(ThisMachine(base, places=places), places) as machine:
            first = await ensure_engine(machine, said.append)
            if first.engine != "docker":
                pytest.skip(f"no second engine can run here: {first.why_not_docker}")
            assert first.how == "started"
            pid = int(places.pid_file.read_text())
            assert b"sk-not-for-the-engine" not in Path(f"/proc/{pid}/environ").read_bytes()
            again = await ensure_engine(machine, said.append)
            assert (again.how, int(places.pid_file.read_text())) == ("running", pid)
            for file in (places.pid_file, places.containerd_pid_file):
                os.kill(int(file.read_text()), signal.SIGKILL)
            while dockerd.process_name(pid) == "dockerd":
                await asyncio.sleep(0.05)
            # The worst case: the numbers belong to somebody else by now.
            for file in (places.pid_file, places.containerd_pid_file):
                file.write_text(str(os.getpid()))
            third = await ensure_engine(machine, said.append)
            assert third == EngineReport("docker", places.address, first.version, "started")
            assert sum("removing" in line for line in said) == 2


@pytest.mark.docker
async def test_the_image_is_there_and_is_told_by_its_digest(tmp_path: Path) -> None:
    image = docker_image()
    facts = await image_status(engine_address(), image=image)
    assert facts is not None
    assert facts.digest.startswith("sha256:")
    assert len(facts.digest) == 71
    assert await image_status(engine_address(), image="honed-sandbox:no-such-recipe") is None
    if image == SANDBOX_IMAGE:
        again = await ensure_image(engine_address(), home=tmp_path, say=pytest.fail)
        assert again == facts


@pytest.mark.docker
def test_what_is_in_the_image() -> None:
    if docker_image() != SANDBOX_IMAGE:
        pytest.skip(f"{SANDBOX_IMAGE} is not there: run `honed setup`")
    script = (
        "id -un; id -u; python3 -c 'import openpyxl, pytest; print(1)'; git --version;"
        "for name in socat rg git python3; do command -v $name; done;"
        "find / -xdev -type f -perm /6000 2>/dev/null; cat /etc/apt/sources.list; ls /var/lib/apt/lists | wc -l"
    )
    with connected(engine_address()) as client:
        labels = client.images.get(SANDBOX_IMAGE).labels
        output = client.containers.run(SANDBOX_IMAGE, ["sh", "-c", script], network_mode="none", remove=True)
    lines = output.decode().splitlines()
    assert labels[recipe.LABEL] == recipe.recipe_hash()
    assert lines[:3] == ["agent", "1000", "1"]
    assert lines[4:8] == ["/usr/bin/socat", "/usr/bin/rg", "/usr/bin/git", "/usr/bin/python3"]
    assert lines[8:] == ["0"], "no set-uid programs, no mirror, no package lists"


@pytest.mark.clis
async def test_the_real_clis_tell_the_pinned_versions() -> None:
    paths = await clis_status(honed_home())
    if paths is None:
        pytest.skip("the CLIs are not there: run `honed setup`")
    assert paths.versions == pins()
    assert not (Path("/nonexistent") / ".codex").exists()


@pytest.mark.docker
@pytest.mark.clis
async def test_set_up_is_quick_and_silent_where_all_is_there() -> None:
    if docker_image() != SANDBOX_IMAGE or await clis_status(honed_home()) is None:
        pytest.skip("not all is there: run `honed setup`")
    said: list[str] = []
    report = await set_up(said.append)
    assert said == []
    assert report.problems == ()
    assert (report.engine.how, report.image.how if report.image else None) == ("running", "present")
    assert report.seconds["all"] < 60, "nothing was made: that takes minutes"


@pytest.mark.docker
@pytest.mark.clis
async def test_the_doctor_finds_this_machine_well() -> None:
    if docker_image() != SANDBOX_IMAGE or await clis_status(honed_home()) is None:
        pytest.skip("not all is there: run `honed setup`")
    rows = {check.name: check for check in await run_checks(None)}
    assert rows["engine"].detail.startswith("docker ")
    assert {name: row.detail for name, row in rows.items() if row.state == "fail"} == {}
    assert isinstance(await ping(engine_address()), Pong)
