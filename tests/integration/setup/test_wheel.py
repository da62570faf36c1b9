"""The wheel holds everything that is not code: what is missing in it fails only at a user's."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = out.glob("honed-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_every_tracked_file_of_the_packages_is_in_the_wheel(names: set[str]) -> None:
    folders = ("daemon", "harnesses", "sandboxes", "skills_repo")
    listed = subprocess.run(["git", "ls-files", "-z", *folders], cwd=ROOT, check=True, capture_output=True).stdout
    tracked = {name for name in listed.decode().split("\0") if name and (ROOT / name).exists()}
    assert len(tracked) > 50
    assert tracked - names == set()


def test_set_ups_data_is_among_them(names: set[str]) -> None:
    assert {
        "daemon/setup/agents/package.json",
        "daemon/setup/agents/package-lock.json",
        "sandboxes/image/packages.txt",
        "sandboxes/image/Dockerfile",
    } <= names
    assert not any(name.startswith("tests/") or "node_modules" in name for name in names)
