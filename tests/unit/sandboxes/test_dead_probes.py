"""What a process leaves that is killed while it tries bubblewrap out is removed by the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandboxes.bubblewrap import _remove_dead_probes


def test_folders_of_dead_processes_go_and_all_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = [f"honed-probe-{os.getpid()}-x", "honed-probe-x", "honed-probe-x-y", f"other-{dead.pid}-x"]
    for name in (f"honed-probe-{dead.pid}-x", *kept):
        (tmp_path / name / "workspace").mkdir(parents=True)
    (tmp_path / f"honed-probe-{dead.pid}-link").symlink_to(tmp_path / kept[0])
    _remove_dead_probes()
    left = {path.name for path in tmp_path.iterdir() if not path.is_symlink()}
    assert left == set(kept)
    assert (tmp_path / kept[0] / "workspace").is_dir(), "a link leads nowhere"
