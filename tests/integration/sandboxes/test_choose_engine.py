"""The choice on this real machine."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from sandboxes.bubblewrap import BubblewrapSandbox
from sandboxes.choose import choose_engine
from sandboxes.docker import DockerSandbox
from sandboxes.sandbox import SandboxError
from tests.support.sandboxes import Engine, bubblewrap_engine, docker_image, sh


@pytest.mark.docker
async def test_docker_where_it_answers(owner: str) -> None:
    choice = await choose_engine("auto", image=docker_image(), rootfs=None, owner=owner)

    assert choice.sandbox.name == "docker"
    assert (await choice.sandbox.facts()).image_digest.startswith("sha256:")


@pytest.mark.bubblewrap
async def test_bubblewrap_where_no_engine_answers(owner: str, tmp_path: Path) -> None:
    await bubblewrap_engine(owner)
    url = f"unix://{tmp_path}/no.sock"
    choice = await choose_engine("auto", image="any", rootfs=None, owner=owner, docker_url=url)

    assert choice.sandbox.name == "bubblewrap"
    assert url in choice.reasons[0]
    assert "the host's own" in choice.reasons[1]


async def test_processes_where_nothing_else_works(owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandboxes.bubblewrap.shutil.which", lambda _: None)
    url = f"unix://{tmp_path}/no.sock"
    choice = await choose_engine("auto", image="any", rootfs=None, owner=owner, docker_url=url)

    assert choice.sandbox.name == "process"
    assert "install the package `bubblewrap`" in choice.reasons[1]
    assert "NOT ISOLATED" in choice.reasons[2]


@pytest.mark.docker
async def test_a_missing_image_names_the_remedy(owner: str, tmp_path: Path) -> None:
    docker_image()
    with pytest.raises(SandboxError, match="honed setup"):
        await choose_engine("docker", image="honed-sandbox:no-such", rootfs=None, owner=owner)


async def test_an_engine_that_never_answers_is_given_up(
    owner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody listens at the address but says nothing."""
    address = str(tmp_path / "mute.sock")
    monkeypatch.setattr("sandboxes.engine_client.ANSWER_S", 1.0)
    sandbox = DockerSandbox("any", owner=owner, base_url=f"unix://{address}")
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(address)
        mute.listen()
        with pytest.raises(SandboxError, match="no Docker engine answers"):
            await sandbox.facts()


@pytest.mark.bubblewrap
async def test_a_given_root_file_system(owner: str, tmp_path: Path) -> None:
    """A root file system made of the host's own folders stands in for an unpacked one."""
    await bubblewrap_engine(owner)
    root = tmp_path / "private" / "root"
    for name in ("usr", "etc", "home", "opt"):
        (root / name).mkdir(parents=True)
    root.parent.chmod(0o700)
    (root / "bin").symlink_to("usr/bin")
    (root / "etc" / "release").write_text("made")
    (root / "etc" / "release").chmod(0o644)
    root.with_name("root.json").write_text('{"digest": "sha256:beef"}')
    sandbox = BubblewrapSandbox(root, owner=owner)

    with pytest.raises(SandboxError, match="bubblewrap cannot"):
        await sandbox.facts()  # no shell in it

    copied = ["/bin/sh", "/usr/bin/env", "/usr/bin/setpriv", "/bin/cat", "/bin/ls"]
    libraries = {word for tool in copied for word in subprocess.run(
        ["ldd", tool], capture_output=True, text=True, check=True).stdout.split() if word.startswith("/")}  # fmt: skip
    for source in (*copied, *libraries):
        target = root / source.lstrip("/").replace("bin/", "usr/bin/", 1).replace("usr/usr", "usr")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(source).read_bytes())
        target.chmod(0o755)
    facts = await sandbox.facts()
    async with Engine(sandbox).box(tmp_path) as box:
        ended = await sh(box, "cat /etc/release; ls /etc")

    assert facts.image_digest == "sha256:beef"
    assert ended.stdout.read_text() == "maderelease\n"
