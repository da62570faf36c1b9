"""The Python shown to agents where the engine has the host's own programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from daemon.setup.toolkit import ensure_toolkit
from harnesses.clis import PATH, PYTHON_TOOLS


async def test_its_python_finds_openpyxl_and_nothing_else_of_ours(tmp_path: Path) -> None:
    mount = await ensure_toolkit(tmp_path, print)
    assert mount.target == PYTHON_TOOLS
    assert PATH.startswith(f"{mount.target}/bin:")
    script = "import openpyxl, importlib.util as u; print(openpyxl.__version__, u.find_spec('structlog'))"
    command = [mount.source / "bin" / "python3", "-s", "-c", script]
    done = subprocess.run(
        command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    version, other = done.stdout.split()
    assert version.startswith("3.")
    assert other == "None"


async def test_it_is_made_once_and_whole(tmp_path: Path) -> None:
    said: list[str] = []
    first = await ensure_toolkit(tmp_path, said.append)
    marker = first.source / "marker"
    marker.touch()
    assert await ensure_toolkit(tmp_path, said.append) == first
    assert marker.exists()
    assert [path.name for path in (tmp_path / "toolkit").iterdir()] == [first.source.name]
