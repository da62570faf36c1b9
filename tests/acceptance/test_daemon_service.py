"""`honed daemon` under a supervisor: what it says to systemd over a real socket, in the order in which it happens."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from tests.support.daemons import Daemon
from tests.support.honed_cli import HONED, LIMIT_S, environment
from tests.support.projects import demo_project

pytestmark = [pytest.mark.slow]

KEEP = {"train": 2, "selection": 4, "test": 2}
_LOCKED = """
import ctypes, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE
    sys.stderr.write("the kernel has no such lock\\n")
os.execv(sys.argv[1], sys.argv[1:])
"""
"""What MemoryDenyWriteExecute= of a unit does, by the kernel's own means (Linux 6.3)."""


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Queue[str]]:
    """What the supervisor heard; it listens all the time, as the kernel keeps ten messages and no more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as made:
        made.bind(str(tmp_path / "notify"))
        messages: Queue[str] = Queue()

        def listen() -> None:
            while message := made.recv(4096):
                messages.put(message.decode())

        listening = threading.Thread(target=listen, name="supervisor")
        listening.start()
        yield messages
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
            last.sendto(b"", str(tmp_path / "notify"))
        listening.join()


def told(heard: Queue[str], wanted: str) -> list[str]:
    """The lines of the next message with this one; others but signs of life are a failure."""
    while True:
        lines = heard.get(timeout=LIMIT_S).split("\n")
        if wanted in lines:
            return lines
        assert lines == ["WATCHDOG=1"]


def supervised(tmp_path: Path, locked: Path) -> Daemon:
    project = demo_project(tmp_path / "project", keep=KEEP, chat=True)
    env = environment(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="900000")
    return Daemon(project, env=env, through=(sys.executable, str(locked)))


def test_its_supervisor_hears_how_it_is(tmp_path: Path, heard: Queue[str]) -> None:
    script = tmp_path / "locked.py"
    script.write_text(_LOCKED)
    one = supervised(tmp_path, script)
    try:
        assert told(heard, "READY=1") == ["READY=1", "STATUS=keeps text"]
        for _ in range(3):
            assert told(heard, "WATCHDOG=1") == ["WATCHDOG=1"]
        os.kill(one.process.pid, signal.SIGHUP)
        assert told(heard, "RELOADING=1")[1].startswith("MONOTONIC_USEC=")
        told(heard, "READY=1")
        one.until(one.settled, "the first run has ended")
        assert [job.state for job in one.jobs()][:1] == ["done"]
        assert one.end() == 0
        assert told(heard, "STOPPING=1") == ["STOPPING=1", "STATUS=draining", "EXTEND_TIMEOUT_USEC=90000000"]
    finally:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)


def test_a_configuration_that_cannot_be_used_ends_with_the_code_that_no_supervisor_tries_again(tmp_path: Path) -> None:
    (tmp_path / "honed.toml").write_text("[skill]\npath = 7\n")
    done = subprocess.run([HONED, "daemon"], cwd=tmp_path, env=environment(), capture_output=True, check=False)
    assert done.returncode == 2
