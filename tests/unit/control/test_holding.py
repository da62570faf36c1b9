"""A state directory that a daemon holds: who it is, and what lets others in."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from daemon.control.address import SOCKET_NAME
from daemon.control.announcing import FILE, announce
from daemon.journal.lock import StateBusyError, state_lock
from daemon.service.desk import Progress
from tests.support.control import Beside, project_at
from tests.support.desk import FakeDesk, a_job, a_project, a_status
from tests.support.waiting import PATIENCE_S

OTHER = 4_000_111


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take long to answer; no holder here is dead and leaves children to be waited for."""
    monkeypatch.setattr("daemon.journal.lock._DYING_S", 0.01)
    monkeypatch.setattr("daemon.control.holding._PATIENCE_S", PATIENCE_S)


def refused(state: Path, pid: int) -> str:
    """What one hears who comes while the process of that id holds the state directory."""
    with state_lock(state):
        state.joinpath("honed.pid").write_text(f"{pid}\n")
        with pytest.raises(StateBusyError) as busy:
            state_lock(state).__enter__()
    assert busy.value.pid == pid
    return re.sub(r"the state directory \S+ is in use by ", "", str(busy.value))


def announced(folder: Path, socket: Path, pid: int = OTHER) -> Path:
    project = project_at(folder, "greeting")
    announce(project, socket)
    file = project.state / FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | {"pid": pid}))
    return project.state


def test_a_daemon_at_work_is_named_with_its_job_and_what_lets_others_in(tmp_path: Path) -> None:
    main = tmp_path / "main"
    state = announced(tmp_path / "project", main / SOCKET_NAME)
    at_work = a_project("greeting", progress=Progress(a_job(7, state="running")))
    with Beside(FakeDesk(shown=a_status(a_project("other", progress=Progress(a_job(6))), at_work)), main):
        assert refused(state, OTHER) == (
            f"the honed daemon (process {OTHER}), which works on job 7 (`honed pause greeting` lets its attempts end, "
            "and `honed resume greeting` goes on afterwards; `honed cancel 7` ends the job)"
        )
        assert refused(state, OTHER + 1) == f"process {OTHER + 1} (wait for it, or `kill {OTHER + 1}`)"


def test_one_that_is_between_jobs(tmp_path: Path) -> None:
    main = tmp_path / "main"
    state = announced(tmp_path / "project", main / SOCKET_NAME)
    with Beside(FakeDesk(), main):
        assert refused(state, OTHER) == f"the honed daemon (process {OTHER}) (`honed status` says what it does)"


def test_one_that_does_not_answer_is_named_all_the_same(tmp_path: Path) -> None:
    state = announced(tmp_path / "project", tmp_path / "gone" / SOCKET_NAME)
    said = refused(state, OTHER)
    assert said == f"the honed daemon (process {OTHER}) (wait for it; `honed status` says what it does)"


def test_a_daemon_does_not_ask_itself(tmp_path: Path) -> None:
    state = announced(tmp_path / "project", tmp_path / "main" / SOCKET_NAME, os.getpid())
    assert refused(state, os.getpid()) == f"process {os.getpid()} (wait for it, or `kill {os.getpid()}`)"
