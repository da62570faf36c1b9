"""A control group of our own for one command of the bubblewrap engine: memory, processes, processors.

Works as root with version 1 (below our own group) or version 2 (below the root, where the kernel lets us enable the
controllers). Where neither can be had, `make_cgroup` returns None and the engine says what it lacks.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from sandboxes.sandbox import Limits

log = structlog.get_logger(__name__)

ROOT = Path("/sys/fs/cgroup")
PARENT = "honed"
_PERIOD_US = 100_000
_GONE_S = 10.0


@dataclass(frozen=True)
class Cgroup:
    """One group; on version 1 a folder for each controller."""

    folders: tuple[Path, ...]
    counter: Path
    """The file whose `oom_kill` line counts processes killed for memory."""

    @property
    def entries(self) -> tuple[str, ...]:
        """Files into which a process writes `0` to join."""
        return tuple(str(folder / "cgroup.procs") for folder in self.folders)

    def oom_kills(self) -> int:
        """Processes killed for memory so far; 0 where the kernel does not count."""
        for line in self.counter.read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
        return 0

    def remove(self) -> None:
        """Kill whoever is left in it and remove it. Blocking, up to two seconds a folder."""
        for folder in self.folders:
            remove_group(folder)


def make_cgroup(name: str, limits: Limits) -> Cgroup | None:
    """A new group with these limits, or None where this process cannot make one."""
    try:
        return _version_1(name, limits) or _version_2(name, limits)
    except OSError:
        return None


def left_groups(prefix: str) -> tuple[Path, ...]:
    """Folders of groups made by an earlier life, by name prefix."""
    # Anywhere below, for an earlier life may have been in another group itself; groups of others come and go meanwhile.
    found = []
    for folder, below, _ in os.walk(ROOT):
        if Path(folder).name == PARENT:
            found += [Path(folder) / name for name in below if name.startswith(prefix)]
    return tuple(sorted(found))


def remove_group(folder: Path) -> bool:
    """Kill whoever is in this group and remove it; False, and said, if the kernel does not let go of it in time."""
    last = time.monotonic() + _GONE_S
    while folder.is_dir():
        try:
            for pid in (folder / "cgroup.procs").read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            folder.rmdir()
        except OSError as error:
            if time.monotonic() > last:
                # Its name lets the next sweep remove it.
                log.warning("cgroup_not_removed", folder=str(folder), error=error.strerror)
                return False
            time.sleep(0.01)
    return True


def _version_1(name: str, limits: Limits) -> Cgroup | None:
    wanted: dict[str, Mapping[str, int | str]] = {
        "memory": {"memory.limit_in_bytes": limits.memory_bytes, "memory.memsw.limit_in_bytes": limits.memory_bytes},
        "pids": {"pids.max": limits.pids},
        "cpu": {"cpu.cfs_period_us": _PERIOD_US, "cpu.cfs_quota_us": round(limits.cpus * _PERIOD_US)},
    }
    made: list[Path] = []
    try:
        for controller, values in wanted.items():
            parent = _parent_1(controller)
            if parent is None:
                if controller == "cpu":
                    continue
                _discard(made)
                return None
            made.append(_make(parent / name, values))
    except OSError:
        _discard(made)
        raise
    return Cgroup(tuple(made), made[0] / "memory.oom_control")


def _version_2(name: str, limits: Limits) -> Cgroup | None:
    available = ROOT / "cgroup.controllers"
    if not available.is_file() or not {"memory", "pids"} <= set(available.read_text().split()):
        return None
    parent = ROOT / PARENT
    parent.mkdir(exist_ok=True)
    for folder in (ROOT, parent):
        (folder / "cgroup.subtree_control").write_text("+memory +pids +cpu")
    values = {"memory.max": limits.memory_bytes, "memory.swap.max": 0, "pids.max": limits.pids}
    group = _make(parent / name, {**values, "cpu.max": f"{round(limits.cpus * _PERIOD_US)} {_PERIOD_US}"})
    return Cgroup((group,), group / "memory.events")


def _parent_1(controller: str) -> Path | None:
    """Below our own group, so that a limit set on honed itself holds for its boxes too."""
    mount = ROOT / controller
    if not (mount / "cgroup.procs").is_file():
        return None
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            own = mount / path.lstrip("/")
            return (own if own.is_dir() else mount) / PARENT
    return mount / PARENT


def _make(folder: Path, values: Mapping[str, int | str]) -> Path:
    folder.mkdir(parents=True)
    try:
        for file, value in values.items():
            target = folder / file
            if target.exists():  # swap accounting may be switched off in the kernel
                target.write_text(str(value))
    except OSError:
        _discard([folder])
        raise
    return folder


def _discard(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
