"""Start a Docker engine where none runs, outliving us.

Invariants: a running engine is never stopped, restarted or reconfigured; a file is removed only if the process or
listener it speaks of is gone. The engine gets no bridge and no firewall rules (boxes have no network), and an
environment without our variables, since it lives on.
"""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sandboxes.image.command import Say, run_command, search_path

_KEPT_VARIABLES = ("HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_CONTAINERD_SOCKET = Path("/run/containerd/containerd.sock")


@dataclass(frozen=True)
class DockerdPlaces:
    """Where an engine keeps its files; the defaults are Debian's."""

    log: Path
    socket: Path = Path("/var/run/docker.sock")
    pid_file: Path = Path("/var/run/docker.pid")
    exec_root: Path = Path("/var/run/docker")
    data_root: Path = Path("/var/lib/docker")
    system_containerd: Path = _CONTAINERD_SOCKET

    @property
    def address(self) -> str:
        """For clients."""
        return f"unix://{self.socket}"

    @property
    def containerd_pid_file(self) -> Path:
        """Of the containerd that dockerd starts for itself."""
        return self.exec_root / "containerd" / "containerd.pid"

    def command(self) -> list[str]:
        """The argument list."""
        return [
            *("dockerd", "--bridge=none", "--iptables=false", "--ip6tables=false"),
            *(f"--host={self.address}", f"--pidfile={self.pid_file}"),
            *(f"--exec-root={self.exec_root}", f"--data-root={self.data_root}"),
        ]


def process_name(pid: int, proc: Path = Path("/proc")) -> str | None:
    """The name of a running process, or None; a zombie does not run."""
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    name, _, rest = stat.partition("(")[2].rpartition(")")
    return None if rest.split()[:1] == ["Z"] else name


def running_pid(pid_file: Path, name: str, proc: Path = Path("/proc")) -> int | None:
    """The process that the file names, if it runs and is called `name`."""
    try:
        pid = int(pid_file.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None
    return pid if process_name(pid, proc) == name else None


def listens(path: Path) -> bool:
    """True if somebody accepts connections on the unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def clear_stale(places: DockerdPlaces, say: Say) -> None:
    """Remove what a killed engine left and the next would trip over.

    These are pid files whose number is somebody else's now, and a containerd socket nobody listens on.
    """
    for file, name in ((places.pid_file, "dockerd"), (places.containerd_pid_file, "containerd")):
        if file.is_file() and running_pid(file, name) is None:
            say(f"removing {file}: no {name} runs under that number")
            file.unlink(missing_ok=True)
    if places.system_containerd.is_socket() and not listens(places.system_containerd):
        say(f"removing {places.system_containerd}: nobody listens on it")
        places.system_containerd.unlink(missing_ok=True)


class StartError(Exception):
    """dockerd could not be started; `str()` is one line."""


async def start(places: DockerdPlaces, say: Say) -> int | None:
    """Start dockerd in a session of its own, its output in `places.log`; raises `StartError`.

    Returns at once: the process to watch, or None where systemd watches it. Whether it answers, `docker_ping.ping`
    tells. An engine that is already coming up is left alone.
    """
    coming = await asyncio.to_thread(running_pid, places.pid_file, "dockerd")
    if coming is not None:
        say("dockerd is running but does not answer yet: waiting for it")
        return coming
    if await asyncio.to_thread(Path("/run/systemd/system").is_dir):
        say("starting Docker with systemctl")
        finished = await run_command(["systemctl", "start", "docker"], timeout_s=120)
        if finished.code:
            raise StartError(finished.last_line)
        return None
    await asyncio.to_thread(clear_stale, places, say)
    say(f"starting dockerd without a network bridge (log: {places.log})")
    return await _detach(places)


async def _detach(places: DockerdPlaces) -> int:
    """The shell ends at once, so that dockerd is nobody's child and in a session without a terminal."""
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment["PATH"] = search_path()
    try:
        log = await asyncio.to_thread(_open_log, places.log)
    except OSError as error:
        msg = f"{places.log}: {error.strerror}"
        raise StartError(msg) from error
    with log:
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", '"$@" >&2 </dev/null & echo $!', "sh", *places.command()),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
        output, _ = await process.communicate()
    return int(output)


def _open_log(path: Path) -> BinaryIO:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("ab")


def log_end(places: DockerdPlaces) -> str:
    """The newest line of the log that tells what failed, for an error message."""
    if not places.log.is_file():
        return "no log"
    lines = places.log.read_text(encoding="utf-8", errors="replace").splitlines()[-50:]
    failures = [line for line in lines if "level=fatal" in line or "level=error" in line or "failed to" in line]
    return (failures or lines or ["empty log"])[-1].strip()
