"""A Docker engine of the soak's own, beside the machine's: it may be killed, and its end is the soak's end.

Invariant: sockets, data and pid file are all below one folder; the machine's engine is asked for an image, never more.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from daemon.setup.dockerd import DockerdPlaces, clear_stale, listens, running_pid

LIMIT_S = 60.0


def why_not(image: str) -> str:
    """Why no engine of one's own can be had here; empty if it can."""
    missing = [name for name in ("docker", "dockerd", "containerd") if shutil.which(name) is None]
    if missing:
        return f"no {missing[0]} on PATH"
    if os.geteuid() != 0:
        return "only root may start an engine"
    found = subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False)
    return "" if found.returncode == 0 else f"no image {image} in the machine's engine (`honed setup` makes it)"


class OwnEngine:
    """dockerd with everything below `folder`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.places = DockerdPlaces(
            log=folder / "dockerd.log",
            socket=folder / "docker.sock",
            pid_file=folder / "docker.pid",
            exec_root=folder / "exec",
            data_root=folder / "data",
        )
        self.restarts = 0

    @property
    def address(self) -> str:
        """For `DOCKER_HOST`."""
        return self.places.address

    def start(self) -> None:
        """Start it and wait until it answers."""
        clear_stale(self.places, lambda line: None)
        with self.places.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.places.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True
            )
        limit = time.monotonic() + LIMIT_S
        while not (listens(self.places.socket) and self._docker("version").returncode == 0):
            if self.process.poll() is not None or time.monotonic() > limit:
                raise RuntimeError(f"the soak's own dockerd does not start: {self._last_words()}")
            time.sleep(0.1)

    def load(self, image: str) -> None:
        """Take an image over from the machine's engine."""
        with subprocess.Popen(["docker", "save", image], stdout=subprocess.PIPE) as save:
            self._docker("load", stdin=save.stdout).check_returncode()

    def restart(self) -> None:
        """`kill -9` of dockerd, and a new one."""
        self.restarts += 1
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        # Its containerd dies with it, a moment later: one that is just dying would be taken for a running one.
        limit = time.monotonic() + LIMIT_S
        while running_pid(self.places.containerd_pid_file, "containerd") and time.monotonic() < limit:
            time.sleep(0.05)
        self.start()

    def containers(self) -> list[str]:
        """Names of all containers, running or not."""
        return self._docker("ps", "--all", "--format", "{{.Names}}").stdout.decode().split()

    def stop(self) -> None:
        """End it with all that it runs, and remove its data."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(LIMIT_S)
        containerd = running_pid(self.places.containerd_pid_file, "containerd")
        for pid in filter(None, (running_pid(self.places.pid_file, "dockerd"), containerd)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for mount in self._mounts():
            subprocess.run(["umount", "--lazy", mount], check=False, capture_output=True)
        shutil.rmtree(self.places.data_root, ignore_errors=True)
        shutil.rmtree(self.places.exec_root, ignore_errors=True)

    def _mounts(self) -> list[str]:
        rows = Path("/proc/self/mounts").read_text().splitlines()
        return sorted((row.split()[1] for row in rows if row.split()[1].startswith(f"{self.folder}/")), reverse=True)

    def _docker(self, *argv: str, stdin: object = subprocess.DEVNULL) -> subprocess.CompletedProcess[bytes]:
        command = ["docker", "--host", self.address, *argv]
        return subprocess.run(command, stdin=stdin, capture_output=True, check=False)  # type: ignore[call-overload, no-any-return]

    def _last_words(self) -> str:
        return self.places.log.read_text(errors="replace")[-500:]
