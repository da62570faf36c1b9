"""One honed per state directory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tests
from daemon.journal.journal import JournalError
from daemon.journal.lock import StateBusyError, state_lock
from daemon.journal.sqlite import SqliteJournal
from tests.support.waiting import PATIENCE_S

ROOT = Path(tests.__file__).parent.parent
HOLD = """
import sys, time
from pathlib import Path
from daemon.journal.lock import state_lock
with state_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def _holder(folder: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True, env=env)
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_second_process_is_told_the_holders_pid(tmp_path: Path) -> None:
    with _holder(tmp_path / "state") as child:
        try:
            with pytest.raises(StateBusyError, match=f"in use by process {child.pid} .*`kill {child.pid}`") as raised:
                state_lock(tmp_path / "state").__enter__()
            assert raised.value.pid == child.pid
        finally:
            child.kill()


def test_a_killed_holder_leaves_no_lock(tmp_path: Path) -> None:
    with _holder(tmp_path) as child:
        child.send_signal(signal.SIGKILL)
    with state_lock(tmp_path):
        assert (tmp_path / "honed.pid").read_text() == f"{os.getpid()}\n"


def test_the_lock_is_free_again_after_use_and_after_an_error(tmp_path: Path) -> None:
    with state_lock(tmp_path):
        pass
    with pytest.raises(ValueError, match="ours"), state_lock(tmp_path):
        raise ValueError("ours")
    with state_lock(tmp_path), pytest.raises(StateBusyError):
        state_lock(tmp_path).__enter__()
    assert not (tmp_path / "honed.pid").exists()


@pytest.mark.parametrize("content", ["", "no number"])
def test_an_unreadable_pid_is_no_other_error(tmp_path: Path, content: str) -> None:
    with state_lock(tmp_path):
        (tmp_path / "honed.pid").write_text(content)
        with pytest.raises(StateBusyError, match="in use by another process"):
            state_lock(tmp_path).__enter__()


def test_a_state_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match=r"file/state.*writable"):
        state_lock(tmp_path / "file" / "state").__enter__()


# The holder starts a child that has the lock's descriptor, as between fork and exec, and is killed.
ORPHAN = """
import os, sys, time
from pathlib import Path
from daemon.journal.lock import state_lock
with state_lock(Path(sys.argv[1])):
    if os.fork() == 0:
        print("held", flush=True)
        sys.stdin.read()
        os._exit(0)
    time.sleep(60)
"""


def test_a_dead_holder_s_last_child_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.journal.lock._DYING_S", PATIENCE_S)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ORPHAN, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StateBusyError):
            state_lock(tmp_path).__enter__()
        holder.kill()
        holder.wait()
        with ThreadPoolExecutor() as pool:
            taken = pool.submit(_take, tmp_path)
            holder.stdin.close()  # the child comes to its end
            assert taken.result() == f"{os.getpid()}\n"


def _take(folder: Path) -> str:
    with state_lock(folder):
        return (folder / "honed.pid").read_text()


def test_what_is_another_s_by_now_is_left_alone(tmp_path: Path) -> None:
    state, moved = tmp_path / "state", tmp_path / "moved"
    with state_lock(state):
        state.rename(moved)
        state.mkdir()
        (state / "honed.pid").write_text("1\n")
    assert (state / "honed.pid").read_text() == "1\n"
    with state_lock(state):
        state.rename(tmp_path / "other")
        state.write_text("a file in its place")


def test_the_pid_is_written_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "state" / "honed.pid").symlink_to(tmp_path / "precious")
    with state_lock(tmp_path / "state"):
        assert (tmp_path / "state" / "honed.pid").read_text() == f"{os.getpid()}\n"
        assert not (tmp_path / "state" / "honed.pid").is_symlink()
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_folder_where_the_pid_belongs_is_named(tmp_path: Path) -> None:
    (tmp_path / "honed.pid").mkdir()
    with pytest.raises(JournalError, match=r"honed\.pid: Is a directory \(remove what is there"):
        state_lock(tmp_path).__enter__()
    assert sorted(one.name for one in tmp_path.iterdir() if one.suffix != ".lock") == ["honed.pid"]


def test_a_project_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="No such file"):
        state_lock(tmp_path / "gone" / ".honed").__enter__()
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("name", ["", "attempts", "doors", "images", "inbox", "scratch"])
def test_a_file_where_a_folder_belongs_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    state = tmp_path / ".honed"
    place = state / name if name else state
    place.parent.mkdir(exist_ok=True)
    place.write_text("mine")
    with pytest.raises(JournalError, match=rf"{re.escape(str(place))} is no folder.*: move it away"):
        state_lock(state).__enter__()
    assert place.read_text() == "mine"


@pytest.mark.parametrize("name", ["honed.lock", ".gitignore", "engine", "inbox.sqlite", "journal.sqlite"])
def test_a_folder_where_a_file_belongs_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(JournalError, match=rf"{re.escape(str(tmp_path / name))} is a folder.*: move it away"):
        state_lock(tmp_path).__enter__()


def test_a_daemon_minds_only_its_own_lock_and_what_a_run_needs_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "attempts").write_text("no folder")
    with state_lock(tmp_path, "daemon"):
        pass
    (tmp_path / "daemon.lock").unlink()
    (tmp_path / "daemon.lock").mkdir()
    with pytest.raises(JournalError, match=r"daemon\.lock is a folder.*: move it away"):
        state_lock(tmp_path, "daemon").__enter__()


async def test_a_database_that_is_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "j.sqlite").mkdir()
    for read_only in (False, True):
        journal = SqliteJournal(tmp_path / "j.sqlite", read_only=read_only)
        with pytest.raises(JournalError, match=r"j\.sqlite is a folder"):
            await journal.find_runs()
        await journal.close()


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_database_that_nobody_may_look_for_is_named(tmp_path: Path, *, read_only: bool) -> None:
    journal = SqliteJournal(tmp_path / ("x" * 300), read_only=read_only)
    with pytest.raises(JournalError, match=r"^journal /.*x: File name too long \(make the file and its folder"):
        await journal.find_runs()
    await journal.close()
