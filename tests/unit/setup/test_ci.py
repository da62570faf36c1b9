"""`.ci/run` passes only if the checks passed and tests really ran; the Makefile's recipes are what they say."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def _run(folder: Path, monkeypatch: pytest.MonkeyPatch, *, test: str, check: str = "exit 0") -> int:
    """Run a copy of `.ci/run` with a `make` that does what it is told."""
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci" / "run")
    make = folder / "bin" / "make"
    make.parent.mkdir()
    make.write_text(f'#!/bin/sh\necho "$1 CI=$CI" >> {folder}/log\ncase $1 in check) {check};; test) {test};; esac\n')
    make.chmod(0o755)
    monkeypatch.setenv("PATH", f"{make.parent}:/usr/bin:/bin")
    done = subprocess.run(["bash", ".ci/run"], cwd=folder, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode


@pytest.mark.parametrize(
    ("test", "check", "passes"),
    [
        ("echo '==== 12 passed, 3 skipped in 1.00s ===='", "exit 0", True),
        ("echo '1 passed in 0.01s'", "exit 0", True),
        ("echo '==== 12 passed in 1.00s ===='; exit 1", "exit 0", False),
        ("echo '==== 12 skipped in 1.00s ===='", "exit 0", False),
        ("echo '==== 0 passed in 1.00s ===='", "exit 0", False),
        ("echo 'no tests ran in 0.01s'; exit 5", "exit 0", False),
        ("true", "exit 0", False),
        ("echo '==== 12 passed in 1.00s ===='", "exit 1", False),
    ],
)
def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str, check: str, passes: bool) -> None:
    assert (_run(tmp_path, monkeypatch, test=test, check=check) == 0) is passes
    order = (tmp_path / "log").read_text().split("\n")
    assert order[0] == "check CI=true"
    if check == "exit 0":
        assert order[1] == "test CI=true"


def _make(*args: str) -> list[str]:
    """The Makefile's own words, also where these tests run below another make."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    done = subprocess.run(["make", *args], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("target", ["setup", "demo", "test", "check", "bench", "lock", "wheel", "alfworld"])
def test_every_target_brings_what_it_needs(target: str) -> None:
    lines = _make("-n", target)
    assert "scripts/bootstrap.sh" in lines[0]
    if target in ("demo", "test", "bench"):
        assert lines[1].endswith("honed --log-text setup")


def test_the_extra_is_installed_by_its_lock() -> None:
    assert _make("-n", "alfworld")[-1] == "sh scripts/bootstrap.sh alfworld"
    assert "requirements/alfworld.txt" in "\n".join(_make("-n", "lock"))


def test_help_lists_the_targets() -> None:
    assert {"setup", "demo", "test", "check", "bench"} <= {line.split()[0] for line in _make()}
