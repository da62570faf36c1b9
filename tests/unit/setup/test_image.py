"""How the image comes: found, built where a registry answers, else by debootstrap; and nothing half-made."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from docker.errors import ImageNotFound
from urllib3.exceptions import ReadTimeoutError

from sandboxes.image import archive, mirror, recipe
from sandboxes.image import debootstrap as making
from sandboxes.image import image as module
from sandboxes.image import rootfs as on_disk
from sandboxes.image.debootstrap import ImageError
from sandboxes.image.image import ImageFacts, _RegistryError, ensure_image
from sandboxes.image.recipe import SANDBOX_IMAGE
from sandboxes.image.rootfs import ensure_rootfs, rootfs_status

ADDRESS = "unix:///fake/docker.sock"
DIGEST = "sha256:" + "1" * 64


@dataclass
class Engine:
    """Stands for the Docker engine and for debootstrap."""

    images: dict[str, str] = field(default_factory=dict)
    registry: str | None = None
    """None: it answers; else the error."""
    debootstrap: str | None = None
    done: list[str] = field(default_factory=list)

    def inspect(self, _: str, image: str, how: str) -> ImageFacts | None:
        return ImageFacts(image, self.images[image], how) if image in self.images else None  # type: ignore[arg-type]

    def build(self, _: str, say: object) -> None:
        self.done.append("build")
        if self.registry is not None:
            raise _RegistryError(self.registry)
        self.images[SANDBOX_IMAGE] = DIGEST

    async def make(self, tree: Path, say: object, *, may_install: bool) -> None:
        self.done.append(f"debootstrap may_install={may_install}")
        await asyncio.sleep(0.05)
        if self.debootstrap is not None:
            raise ImageError(self.debootstrap)
        (tree / "etc").mkdir(parents=True)
        (tree / "etc" / "passwd").write_text("agent:x:1000:1000\n")

    def load(self, _: str, file: Path) -> None:
        with tarfile.open(file) as tar:
            manifest = json.loads(_read(tar, "manifest.json"))[0]
        self.done.append("load")
        self.images[manifest["RepoTags"][0]] = "sha256:" + manifest["Config"].removesuffix(".json")


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    member = tar.extractfile(name)
    assert member is not None
    return member.read()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    fake = Engine()
    monkeypatch.setattr(module, "_inspect", fake.inspect)
    monkeypatch.setattr(module, "_build", fake.build)
    monkeypatch.setattr(module, "_load", fake.load)
    monkeypatch.setattr(module, "debootstrap", fake.make)
    monkeypatch.setattr(on_disk, "debootstrap", fake.make)
    return fake


async def _ensure(home: Path, said: list[str], **more: bool) -> ImageFacts:
    return await ensure_image(ADDRESS, home=home, say=said.append, **more)


async def test_an_image_that_is_there_is_used_without_a_word(engine: Engine, tmp_path: Path) -> None:
    engine.images[SANDBOX_IMAGE] = DIGEST
    said: list[str] = []
    assert await _ensure(tmp_path, said) == ImageFacts(SANDBOX_IMAGE, DIGEST, "present")
    assert (engine.done, said) == ([], [])


async def test_another_recipes_image_is_not_taken(engine: Engine, tmp_path: Path) -> None:
    engine.images["honed-sandbox:000000000000"] = DIGEST
    assert (await _ensure(tmp_path, [])).how == "built"


async def test_a_registry_that_answers_is_built_on(engine: Engine, tmp_path: Path) -> None:
    facts = await _ensure(tmp_path, [])
    assert (facts.how, engine.done) == ("built", ["build"])


async def test_no_registry_falls_back_to_debootstrap_aloud(engine: Engine, tmp_path: Path) -> None:
    engine.registry = "no such host"
    said: list[str] = []
    facts = await _ensure(tmp_path, said)
    assert facts.how == "debootstrap"
    assert engine.done == ["build", "debootstrap may_install=True", "load"]
    assert "no such host" in said[0]
    assert "debootstrap" in said[0]
    assert list((tmp_path / "image").iterdir()) == []


async def test_both_failing_names_both_reasons(engine: Engine, tmp_path: Path) -> None:
    engine.registry, engine.debootstrap = "no such host", "debootstrap needs root"
    with pytest.raises(ImageError, match=r"no such host.*debootstrap needs root"):
        await _ensure(tmp_path, [], may_install=False)
    assert engine.done[-1] == "debootstrap may_install=False"
    assert list((tmp_path / "image").iterdir()) == []


async def test_two_set_ups_make_it_once(engine: Engine, tmp_path: Path) -> None:
    engine.registry = "no such host"
    facts = await asyncio.gather(_ensure(tmp_path, []), _ensure(tmp_path, []))
    assert engine.done.count("load") == 1
    assert sorted(one.how for one in facts) == ["debootstrap", "present"]
    assert len({one.digest for one in facts}) == 1


async def test_a_cancelled_set_up_leaves_nothing(engine: Engine, tmp_path: Path) -> None:
    engine.registry = "no such host"
    task = asyncio.create_task(_ensure(tmp_path, []))
    while "debootstrap may_install=True" not in engine.done:
        await asyncio.sleep(0.005)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert list((tmp_path / "image").iterdir()) == []
    assert (await _ensure(tmp_path, [])).how == "debootstrap"


async def test_a_registry_that_falls_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def events(*_: object, **__: object) -> Iterator[dict[str, str]]:
        yield {"status": "Pulling"}
        raise ReadTimeoutError(None, "", "silent")  # type: ignore[arg-type]

    client = MagicMock()
    client.images.get.side_effect = ImageNotFound("no such image")
    client.api.pull = events
    monkeypatch.setattr(module, "_client", lambda *_: client)
    said: list[str] = []
    assert "silent" in str(await module._try_registry(ADDRESS, said.append))
    assert "falling back" in said[-1]
    assert client.close.called


async def test_an_engine_that_does_not_answer_is_an_image_error(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"there is no such socket.*run `honed setup`"):
        await ensure_image(f"unix://{tmp_path}/docker.sock", home=tmp_path, say=lambda _: None)


async def test_the_root_file_system_for_bubblewrap_is_made_once(engine: Engine, tmp_path: Path) -> None:
    assert rootfs_status(tmp_path) is None
    first = await ensure_rootfs(tmp_path, lambda _: None)
    again = await ensure_rootfs(tmp_path, lambda _: None)
    assert first == again == rootfs_status(tmp_path)
    assert engine.done == ["debootstrap may_install=True"]
    assert (first.path / "etc" / "passwd").is_file()
    assert first.digest.startswith("sha256:")
    assert not list((tmp_path / "rootfs").glob(".tmp-*"))


def test_the_archive_is_what_docker_load_takes(tmp_path: Path) -> None:
    layer = tmp_path / "layer.tar"
    with tarfile.open(layer, "w") as tar:
        tar.addfile(tarfile.TarInfo("etc"), io.BytesIO())
    diff_id = "sha256:" + hashlib.sha256(layer.read_bytes()).hexdigest()
    image_id = archive.write_image(layer, diff_id, tmp_path / "image.tar", machine="x86_64")
    with tarfile.open(tmp_path / "image.tar") as tar:
        (manifest,) = json.loads(_read(tar, "manifest.json"))
        config = _read(tar, manifest["Config"])
        assert _read(tar, manifest["Layers"][0]) == layer.read_bytes()
    assert manifest["RepoTags"] == [SANDBOX_IMAGE]
    assert image_id == "sha256:" + hashlib.sha256(config).hexdigest()
    told = json.loads(config)
    assert told["rootfs"]["diff_ids"] == [diff_id]
    assert told["architecture"] == "amd64"
    assert "Env" not in told["config"]
    assert told["config"]["User"] == "1000:1000"


async def test_debootstrap_needs_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(ImageError, match="as root"):
        await making.debootstrap(tmp_path / "tree", lambda _: None, may_install=True)


async def test_a_machine_without_debian_sources_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(mirror, "read_sources", lambda: ())
    with pytest.raises(ImageError, match="/etc/apt"):
        await making.debootstrap(tmp_path / "tree", lambda _: None, may_install=True)


def _fake_debootstrap(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A `debootstrap` that `unshare` starts; both are scripts first on the path."""
    folder.mkdir()
    for name, text in {
        "unshare": 'while [ "$1" != debootstrap ]; do shift; done; exec "$@"',
        "debootstrap": script,
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    source = mirror.Source("http://user:secret@mirror.example/debian", "bookworm", ("main",))
    monkeypatch.setattr(mirror, "read_sources", lambda: (source,))
    monkeypatch.setattr(mirror, "read_os_release", lambda: {"ID": "debian", "VERSION_CODENAME": "bookworm"})


async def test_debootstrap_is_told_the_recipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = f"""
echo "$@" > {tmp_path}/argv
for last; do before=$tree; tree=$last; done
mkdir -p $before/etc; echo 'root:x:0:0' | tee $before/etc/passwd > $before/etc/group
mkdir -p $before/etc/apt
echo 'I: Retrieving x'; echo 'I: Unpacking the base system...'
"""
    _fake_debootstrap(tmp_path / "bin", monkeypatch, script)
    said: list[str] = []
    await making.debootstrap(tmp_path / "tree", said.append, may_install=False)
    argv = (tmp_path / "argv").read_text().split()
    assert f"--include={','.join(recipe.packages())}" in argv
    assert argv[-3:] == ["bookworm", str(tmp_path / "tree"), "http://user:secret@mirror.example/debian"]
    assert said[0].startswith("making the sandbox image from mirror.example (bookworm)")
    assert said[1:] == ["debootstrap: Unpacking the base system..."]
    assert "secret" not in "".join(said)
    assert "agent:x:1000" in (tmp_path / "tree/etc/passwd").read_text()


async def test_a_failed_debootstrap_tells_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "tree" / "debootstrap"
    script = f"mkdir -p {folder}; echo 'no space left' > {folder}/debootstrap.log; exit 1"
    _fake_debootstrap(tmp_path / "bin", monkeypatch, script)
    with pytest.raises(ImageError, match="debootstrap failed: no space left; check the mirror"):
        await making.debootstrap(tmp_path / "tree", lambda _: None, may_install=False)
