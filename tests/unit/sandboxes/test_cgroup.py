"""Control groups over a pretended hierarchy of files; the kernel's own part is proven by the conformance suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandboxes import cgroup
from sandboxes.cgroup import left_groups, make_cgroup, remove_group
from sandboxes.sandbox import MIB, Limits

LIMITS = Limits(memory_bytes=64 * MIB, pids=9, cpus=1.5)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroup, "ROOT", tmp_path)
    return tmp_path


def version_1(root: Path, *controllers: str) -> None:
    for controller in controllers:
        (root / controller).mkdir()
        (root / controller / "cgroup.procs").touch()


def version_2(root: Path) -> None:
    (root / "cgroup.controllers").write_text("cpuset cpu io memory pids")
    for folder in (root, root / "honed"):
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.subtree_control").touch()


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel fills a new group with its files; here they are made by being written."""
    monkeypatch.setattr(Path, "exists", lambda _: True)


@pytest.mark.usefixtures("filled")
def test_version_1_has_a_folder_for_each_controller(root: Path) -> None:
    version_1(root, "memory", "pids", "cpu")
    group = make_cgroup("box", LIMITS)

    assert group is not None
    memory, pids, cpu = group.folders
    assert (memory / "memory.limit_in_bytes").read_text() == str(64 * MIB)
    assert (memory / "memory.memsw.limit_in_bytes").read_text() == str(64 * MIB)
    assert (pids / "pids.max").read_text() == "9"
    assert (cpu / "cpu.cfs_quota_us").read_text() == "150000"
    assert all(folder.parent.name == "honed" for folder in group.folders)
    assert [Path(entry).name for entry in group.entries] == ["cgroup.procs"] * 3


@pytest.mark.usefixtures("filled")
def test_version_2_is_one_folder(root: Path) -> None:
    version_2(root)
    group = make_cgroup("box", LIMITS)

    assert group is not None
    assert group.folders == (root / "honed" / "box",)
    folder = group.folders[0]
    assert (folder / "memory.max").read_text() == str(64 * MIB)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "pids.max").read_text() == "9"
    assert (folder / "cpu.max").read_text() == "150000 100000"
    assert "+memory" in (root / "cgroup.subtree_control").read_text()


def test_none_where_there_are_no_controllers(root: Path) -> None:
    assert make_cgroup("box", LIMITS) is None
    version_1(root, "memory")
    assert make_cgroup("box", LIMITS) is None
    assert not list(root.glob("**/box")), "a half-made group is taken back"


def test_none_where_the_kernel_refuses(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version_2(root)

    def refuse(*_: object, **__: object) -> int:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "write_text", refuse)
    assert make_cgroup("box", LIMITS) is None


@pytest.mark.usefixtures("filled")
def test_a_group_whose_limits_are_refused_is_taken_back(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version_2(root)
    write = Path.write_text

    def refuse(path: Path, text: str) -> int:
        if path.name == "memory.max":
            raise OSError(22, "Invalid argument")
        return write(path, text)

    monkeypatch.setattr(Path, "write_text", refuse)
    assert make_cgroup("box", LIMITS) is None
    assert not (root / "honed" / "box").is_dir()


def test_a_group_that_stays_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "_GONE_S", 0.02)
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "cgroup.procs").touch()
    assert not remove_group(tmp_path / "held")
    assert remove_group(tmp_path / "gone")


@pytest.mark.parametrize(
    ("text", "kills"),
    [
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", 3),
        ("low 0\nhigh 0\nmax 12\noom 2\noom_kill 1\noom_group_kill 0\n", 1),
        ("oom_kill_disable 0\nunder_oom 0\n", 0),
    ],
)
def test_kills_for_memory_are_counted(tmp_path: Path, text: str, kills: int) -> None:
    counter = tmp_path / "memory.events"
    counter.write_text(text)

    assert cgroup.Cgroup((tmp_path,), counter).oom_kills() == kills


def test_left_groups_are_found_by_prefix(root: Path) -> None:
    for name in ("honed-1-a.agent1", "honed-2-b.agent1"):
        (root / "honed" / name).mkdir(parents=True)

    assert [folder.name for folder in left_groups("honed-1-")] == ["honed-1-a.agent1"]
