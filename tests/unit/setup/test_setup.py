"""The whole of set-up: parts side by side, fallbacks said aloud and reported, never raised."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from daemon.setup.clis import AgentPaths
from daemon.setup.docker_ping import Pong
from daemon.setup.errors import SetupError
from daemon.setup.machine import FakeMachine
from daemon.setup.setup import SetupReport, Steps, set_up, summary
from sandboxes.image.debootstrap import ImageError
from sandboxes.image.image import ImageFacts
from sandboxes.image.rootfs import RootfsFacts
from tests.support.waiting import PATIENCE_S

SOCKET = "unix:///fake/docker.sock"
IMAGE = ImageFacts("honed-sandbox:abc", "sha256:" + "1" * 64, "present")
AGENTS = AgentPaths(Path("/h"), Path("/h/codex"), Path("/h/claude"), {"codex": "0.171.0", "claude-code": "2.1.332"})


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("HONED_INSTALL_ENGINE", raising=False)
    monkeypatch.setattr("sandboxes.engine_socket.DEFAULT_ADDRESS", SOCKET)


class Parts:
    """Scripted parts, and what they were asked."""

    def __init__(self, *, image: str = "", rootfs: str = "", clis: str = "") -> None:
        self.errors = {"image": image, "rootfs": rootfs, "clis": clis}
        self.asked: list[str] = []
        self.may_install: list[bool] = []
        self.together = asyncio.Event()

    def steps(self) -> Steps:
        return Steps(image=self.image, rootfs=self.rootfs, clis=self.clis)

    async def image(self, address: str, *, home: Path, say: object, may_install: bool) -> ImageFacts:
        self.asked.append(f"image at {address}")
        self.may_install.append(may_install)
        await asyncio.wait_for(self.together.wait(), PATIENCE_S)
        if self.errors["image"]:
            raise ImageError(self.errors["image"])
        return IMAGE

    async def rootfs(self, home: Path, say: object, *, may_install: bool) -> RootfsFacts:
        self.asked.append("rootfs")
        if self.errors["rootfs"]:
            raise ImageError(self.errors["rootfs"])
        return RootfsFacts(home / "rootfs" / "abc", "sha256:" + "2" * 64)

    async def clis(self, home: Path, say: object) -> AgentPaths:
        self.asked.append("clis")
        self.together.set()
        if self.errors["clis"]:
            raise SetupError(self.errors["clis"])
        return AGENTS


async def _set_up(parts: Parts, machine: FakeMachine, home: Path) -> tuple[SetupReport, str]:
    said: list[str] = []
    report = await set_up(said.append, home=home, machine=machine, steps=parts.steps())
    return report, "\n".join(said)


async def test_all_is_there(tmp_path: Path) -> None:
    parts = Parts()
    report, said = await _set_up(parts, FakeMachine(engines={SOCKET: Pong("20.10")}), tmp_path / "home")
    assert (report.engine.engine, report.image, report.rootfs, report.agents) == ("docker", IMAGE, None, AGENTS)
    assert report.problems == ()
    assert said == ""
    assert (tmp_path / "home").is_dir()
    assert set(report.seconds) == {"engine", "image", "clis", "all"}
    assert f"image at {SOCKET}" in parts.asked


async def test_the_report_is_plain_data(tmp_path: Path) -> None:
    report, _ = await _set_up(Parts(), FakeMachine(engines={SOCKET: Pong("20.10")}), tmp_path)
    data = json.loads(json.dumps(report.as_json()))
    assert data["home"] == str(tmp_path)
    assert data["agents"]["codex"] == "/h/codex"
    assert data["image"]["digest"] == IMAGE.digest
    assert summary(report)[:3] == (
        "engine  docker 20.10 (running)",
        "image   honed-sandbox:abc sha256:111111111111 (present)",
        "agents  codex 0.171.0, claude-code 2.1.332",
    )


async def test_no_image_falls_back_to_bubblewrap_with_a_root_file_system(tmp_path: Path) -> None:
    machine = FakeMachine(engines={SOCKET: Pong("20.10")}, programs={"bwrap", "socat"})
    report, said = await _set_up(Parts(image="no sandbox image: pull it"), machine, tmp_path)
    assert (report.engine.engine, report.image) == ("bubblewrap", None)
    assert report.rootfs is not None
    assert report.problems == ("no sandbox image: pull it",)
    assert "Docker is not used: no sandbox image: pull it" in said
    assert "FALLING BACK" in said


async def test_bubblewrap_without_a_root_file_system_is_said(tmp_path: Path) -> None:
    machine = FakeMachine(is_root=False, can_install=False, programs={"bwrap", "socat"})
    report, said = await _set_up(Parts(rootfs="debootstrap needs root"), machine, tmp_path)
    assert (report.engine.engine, report.rootfs) == ("bubblewrap", None)
    assert "own system folders, read-only: debootstrap needs root" in said


async def test_no_clis_is_said_and_reported_while_the_engine_is_used(tmp_path: Path) -> None:
    machine = FakeMachine(engines={SOCKET: Pong("20.10")})
    report, said = await _set_up(Parts(clis="npm is not installed"), machine, tmp_path)
    assert report.agents is None
    assert report.image == IMAGE
    assert report.problems == ("npm is not installed",)
    assert "NO CODEX AND NO CLAUDE CODE: npm is not installed" in said
    assert "agents  none" in summary(report)


async def test_declining_reaches_every_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HONED_INSTALL_ENGINE", "0")
    parts = Parts()
    await _set_up(parts, FakeMachine(engines={SOCKET: Pong("20.10")}), tmp_path)
    assert parts.may_install == [False]


async def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="set HONED_HOME"):
        await _set_up(Parts(), FakeMachine(), tmp_path / "file" / "home")
