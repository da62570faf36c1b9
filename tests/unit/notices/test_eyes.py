"""The real inotify: folders that come into being while they are looked through, and a limit that is reached."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from watchdog.events import FileSystemEvent, FileSystemEventHandler

import tests
from daemon.notices.arming import TellsRefused
from daemon.notices.eyes import open_eyes

ROOT = Path(tests.__file__).parent.parent
LONG_S = 60.0


class Seen(FileSystemEventHandler):
    """Paths of events."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def dispatch(self, event: FileSystemEvent) -> None:
        self.paths.append(os.fsdecode(event.src_path))


def until(holds: Callable[[], bool]) -> None:
    limit = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_a_folder_that_is_met_twice_is_watched_without_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git makes `refs/honed/rejected/<skill>`: each while the one above is looked through, and its event waits."""
    eyes, seen, walk = open_eyes(), Seen(), os.walk
    inner = tmp_path / "a" / "b"

    def slowly(top: bytes, **how: Any) -> Iterator[tuple[Any, Any, Any]]:
        if Path(os.fsdecode(top)) == inner.parent:
            inner.mkdir(exist_ok=True)  # `a` is watched by now, and not looked through
        return walk(top, **how)

    monkeypatch.setattr(os, "walk", slowly)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        eyes.start()
        try:
            eyes.schedule(seen, str(tmp_path), recursive=True)
            inner.parent.mkdir()
            until(lambda: str(inner) in seen.paths)
            (inner / "file").write_text("x")
            until(lambda: str(inner / "file") in seen.paths)
            assert isinstance(eyes, TellsRefused)
            assert eyes.refused_below(str(tmp_path)) is None
        finally:
            eyes.stop()
            eyes.join()
    assert [str(one.message) for one in warned] == []


LIMITED = """
import sys, time
from pathlib import Path
from watchdog.events import FileSystemEventHandler
from daemon.notices.arming import why_blind
from daemon.notices.eyes import open_eyes
Path("/proc/sys/user/max_inotify_watches").write_text("5")
eyes, top = open_eyes(), Path(sys.argv[1])
eyes.start()
eyes.schedule(FileSystemEventHandler(), str(top), recursive=True)
error = eyes.refused_below(str(top))
print(why_blind(error, str(top)))
for folder in top.iterdir():
    folder.rmdir()
print(eyes.refused_below(str(top)))
eyes.stop()
eyes.join()
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare")
def test_the_limit_of_watches_is_told_for_folders_below_too(tmp_path: Path) -> None:
    own = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*own, "test", "-w", "/proc/sys/user/max_inotify_watches"], check=False).returncode != 0:
        pytest.skip("no user namespace with a limit of its own can be made")
    for number in range(20):
        (tmp_path / str(number)).mkdir()
    command = [*own, sys.executable, "-c", LIMITED, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told, gone = done.stdout.splitlines()
    assert told == "the limit of inotify watches is reached (raise fs.inotify.max_user_watches)"
    assert gone == "None"
