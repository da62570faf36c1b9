"""The systemd units: systemd finds nothing wrong with them, and they say what the daemon counts on."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.config_daemon import DaemonSection

ROOT = Path(__file__).resolve().parents[3]
PACKAGING = ROOT / "packaging"
SYSTEM = PACKAGING / "honed@.service"
USER = PACKAGING / "user" / "honed@.service"
MOST_EXPOSED = 2.0
"""Of systemd's figure from 0 (locked up) to 10; what is left are the network, the engine's socket and the project."""

needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")


def installed(unit: Path, folder: Path) -> Path:
    """The unit as an instance, with a program that exists."""
    made = folder / "honed@srv-skills.service"
    made.write_text(re.sub(r"(?m)^ExecStart=\S+", f"ExecStart={sys.executable}", unit.read_text("utf-8")), "utf-8")
    return made


def analyzed(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *map(str, arguments)],
        env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(folder), "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def settings(unit: Path) -> dict[str, list[str]]:
    """`[Service]` of a unit; a key may come more than once."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in unit.read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line
        elif section == "[Service]" and line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


@needs_systemd
@pytest.mark.parametrize("unit", [SYSTEM, USER], ids=["system", "user"])
def test_systemd_finds_nothing_wrong(unit: Path, tmp_path: Path) -> None:
    scope = ["--user"] if unit == USER else []
    done = analyzed(*scope, "verify", "--man=no", installed(unit, tmp_path), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@needs_systemd
def test_with_the_drop_in_for_bubblewrap_it_is_valid_too(tmp_path: Path) -> None:
    unit = installed(SYSTEM, tmp_path)
    extra = tmp_path / f"{unit.name}.d"
    extra.mkdir()
    shutil.copy(PACKAGING / "bubblewrap.conf", extra)
    done = analyzed("verify", "--man=no", unit, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


@needs_systemd
def test_the_daemon_is_locked_up(tmp_path: Path) -> None:
    done = analyzed("security", "--offline=true", "--no-pager", installed(SYSTEM, tmp_path), folder=tmp_path)
    if "offline" in done.stderr:
        pytest.skip("this systemd-analyze looks at running units alone")
    found = re.search(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert found, done.stderr
    print(found[0])
    assert float(found[1]) <= MOST_EXPOSED


@pytest.mark.parametrize("unit", [SYSTEM, USER], ids=["system", "user"])
def test_what_the_daemon_counts_on(unit: Path) -> None:
    service = settings(unit)
    for key, value in {
        "Type": "notify",
        "KillMode": "mixed",
        "Restart": "on-failure",
        "RestartPreventExitStatus": "2",
        "ExecReload": "/bin/kill -HUP $MAINPID",
        "TimeoutStopSec": "2min",
        "WorkingDirectory": "%f",
    }.items():
        assert service[key] == [value]
    assert int(service["WatchdogSec"][0]) >= 30
    assert DaemonSection().grace_s + 30 <= 120, "the default grace fits into TimeoutStopSec"


def test_no_key_stands_in_a_unit_and_temporary_files_are_where_the_engine_sees_them() -> None:
    service = settings(SYSTEM)
    assert service["EnvironmentFile"] == ["-/etc/honed/%i.env"]
    given = dict(one.split("=", 1) for line in service["Environment"] for one in line.split())
    assert not [name for name in given if "KEY" in name]
    assert given["TMPDIR"] == given["HONED_HOME"] == "%S/honed"


def test_the_drop_in_opens_nothing_but_what_the_unit_closed() -> None:
    closed, opened = settings(SYSTEM), settings(PACKAGING / "bubblewrap.conf")
    assert set(opened) - {"Delegate"} <= set(closed)
    assert "NoNewPrivileges" not in opened
    assert "CapabilityBoundingSet" not in opened
