"""compose.yaml with the real engine: the demo's project runs through it. `make compose-demo`, which takes minutes.

It builds the image on `HONED_COMPOSE_BASE` (a python:3.11 image that the engine has or can pull), with
`HONED_COMPOSE_NETWORK=host` where the engine has no bridge. What it made is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from daemon.setup.home import honed_home
from tests.support.honed_cli import git, honed
from tests.support.projects import demo_project

ROOT = Path(__file__).resolve().parents[2]
BASE = os.environ.get("HONED_COMPOSE_BASE", "")
NETWORK = os.environ.get("HONED_COMPOSE_NETWORK", "")
NAME = "honed-compose-test"
UID = 12345 if os.getuid() == 0 else os.getuid()
GID = 12345 if os.getuid() == 0 else os.getgid()
SOCKET = Path("/var/run/docker.sock")


def compose_command() -> list[str] | None:
    for command in (["docker", "compose"], ["docker-compose"]):
        found = shutil.which(command[0])
        if found and subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0:
            return command
    return None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.clis,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not BASE, reason="takes minutes: make compose-demo runs it"),
    pytest.mark.skipif(not SOCKET.is_socket(), reason="no Docker engine's socket here"),
]


@dataclass(frozen=True)
class Stack:
    """The brought up file."""

    command: tuple[str, ...]
    project: Path

    def __call__(self, *arguments: str) -> str:
        done = subprocess.run([*self.command, *arguments], capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        print(f"$ docker compose {' '.join(arguments)}\n{done.stdout[-3000:]}")
        return done.stdout

    def inspect(self, form: str) -> str:
        found = self("ps", "-q", "daemon").strip()
        done = subprocess.run(["docker", "inspect", "-f", form, found], capture_output=True, text=True, check=True)
        return done.stdout.strip()


def own(folder: Path) -> None:
    """Make the folder the container's user's."""
    if os.getuid() == 0:
        subprocess.run(["chown", "-R", f"{UID}:{GID}", folder], check=True)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    compose = compose_command()
    if compose is None:
        pytest.skip("neither docker compose nor docker-compose is here")
    project, home = demo_project(tmp_path / "project"), tmp_path / "home"
    home.mkdir()
    own(tmp_path)
    for part in ("agents", "toolkit"):
        if (there := honed_home() / part).is_dir():
            shutil.copytree(there, home / part, symlinks=True, copy_function=os.link)
    variables = {
        "HONED_IMAGE": NAME,
        "HONED_UID": UID,
        "HONED_GID": GID,
        "DOCKER_GID": SOCKET.stat().st_gid,
        "HONED_PROJECT": project,
        "HONED_HOME": home,
    }
    (tmp_path / "env").write_text("".join(f"{key}={value}\n" for key, value in variables.items()))
    files = ["-f", str(ROOT / "compose.yaml")]
    if NETWORK:
        (tmp_path / "network.yaml").write_text(f"services:\n  daemon:\n    network_mode: {NETWORK}\n")
        files += ["-f", str(tmp_path / "network.yaml")]
    one = Stack((*compose, "-p", NAME, "--env-file", str(tmp_path / "env"), *files), project)
    build = ["docker", "build", "-q", "--target", "daemon", "--build-arg", f"DAEMON_BASE={BASE}", "-t", NAME]
    build += ["--network", NETWORK] if NETWORK else []
    built = subprocess.run([*build, str(ROOT)], capture_output=True, encoding="utf-8", check=False)
    assert built.returncode == 0, built.stderr[-3000:]
    try:
        yield one
    finally:
        one("down", "--timeout", "5")
        subprocess.run(["docker", "image", "rm", "-f", NAME], capture_output=True, check=False)


def until(holds: Callable[[], bool]) -> None:
    """Wait, at most as long as the test may take."""
    while not holds():
        time.sleep(0.5)


def jobs(project: Path) -> list[str]:
    """States of the jobs, asked over the mounted control socket."""
    done = honed("jobs", "--json", cwd=project)
    return [job["state"] for job in done.result["jobs"]]


def test_the_demo_runs_through_compose(stack: Stack) -> None:
    stack("up", "-d", "--no-build")
    until(lambda: "running" in jobs(stack.project))
    until(lambda: json.loads(stack("exec", "-T", "daemon", "honed", "status", "--json").splitlines()[-1])["running"])
    until(lambda: stack.inspect("{{.State.Health.Status}}") == "healthy")

    stack("stop")  # amid the first run: attempts end, and the job waits
    assert stack.inspect("{{.State.ExitCode}}") == "0"
    assert jobs(stack.project) == ["queued"]
    boxes = subprocess.run(["docker", "ps", "-q", "-f", "label=app=honed"], capture_output=True, text=True, check=True)
    assert boxes.stdout == ""

    stack("start")
    until(lambda: len(jobs(stack.project)) >= 2 and set(jobs(stack.project)) == {"done"})
    print(honed("status", cwd=stack.project).stdout)
    subjects = git(stack.project, "-c", "safe.directory=*", "log", "--format=%h %s", "main..honed/spreadsheets")
    print(subjects)
    assert len(subjects.splitlines()) >= 2
    facts = stack.inspect("{{.Config.User}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.CapDrop}}")
    assert facts == f"{UID}:{GID} true [ALL]"
    stack("stop")
    assert stack.inspect("{{.State.ExitCode}}") == "0"
