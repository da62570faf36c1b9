"""What systemd is told, over real sockets."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from daemon.service.notify import Supervisor
from tests.support.waiting import PATIENCE_S


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_hears_every_state(tmp_path: Path, abstract: bool) -> None:
    name = f"@honed-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind("\0" + name[1:] if abstract else name)
        heard.settimeout(PATIENCE_S)
        told = Supervisor.of({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())})
        assert told.watchdog_s == 30.0
        told.ready("keeps\nREADY=0")
        told.alive()
        told.reloading()
        told.stopping("draining", 60)
        told.stopping("draining", 1e308)
        lines = [heard.recv(4096).decode().split("\n") for _ in range(5)]
    assert lines[0] == ["READY=1", "STATUS=keeps READY=0"]
    assert lines[1] == ["WATCHDOG=1"]
    assert lines[2][0] == "RELOADING=1"
    assert lines[2][1].startswith("MONOTONIC_USEC=")
    assert lines[3] == ["STOPPING=1", "STATUS=draining", "EXTEND_TIMEOUT_USEC=90000000"]
    assert lines[4][2] == "EXTEND_TIMEOUT_USEC=1000000030000000"


def test_a_watchdog_that_is_meant_for_another_process_is_not_ours() -> None:
    assert Supervisor.of({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}).watchdog_s is None
    assert Supervisor.of({"WATCHDOG_USEC": "soon"}).watchdog_s is None
    assert Supervisor.of({}).address == ""


@pytest.mark.parametrize("address", ["", "relative/path", "/no/such/socket"])
def test_nobody_who_listens_is_no_trouble(address: str) -> None:
    Supervisor.of({"NOTIFY_SOCKET": address}).ready("fine")
