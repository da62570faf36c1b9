"""The demo, run once from the built wheel in an empty environment; several tests look at what it left."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.honed_cli import Ran, environment, honed
from tests.support.sandboxes import docker_image

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class WheelDemo:
    """A finished demo."""

    program: Path
    """`honed` of the environment that holds the wheel and its locked requirements alone."""
    folder: Path
    ran: Ran


@pytest.fixture(scope="session")
def wheel_honed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`honed` installed from the built wheel."""
    place = tmp_path_factory.mktemp("wheel")
    run = lambda *command: subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # noqa: E731
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", place)
    uv = Path(sys.executable).with_name("uv")
    python = place / "venv" / "bin" / "python"
    run(uv, "venv", "--quiet", "--python", sys.executable, place / "venv")
    run(uv, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", "requirements/runtime.txt")
    run(uv, "pip", "install", "--quiet", "--python", python, "--no-deps", next(place.glob("*.whl")))
    return python.with_name("honed")


@pytest.fixture(scope="session")
def wheel_demo(wheel_honed: Path, tmp_path_factory: pytest.TempPathFactory) -> WheelDemo:
    """`honed demo --json` from the wheel, with the real engine and the real CLIs."""
    docker_image()
    folder = tmp_path_factory.mktemp("demo") / "repository"
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    env = environment(PYTHONSAFEPATH="1", PATH="/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    ran = honed("demo", "--json", "--dir", folder, cwd=elsewhere, env=env, program=wheel_honed, limit_s=900)
    return WheelDemo(wheel_honed, folder, ran)
