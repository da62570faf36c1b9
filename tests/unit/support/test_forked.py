"""A forked command is what a started one is: what it says, how it ends, what it holds, and whom a signal reaches."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.forked import Forked
from tests.support.honed_cli import HONED, environment, honed
from tests.support.processes import runs
from tests.support.waiting import PATIENCE_S, wait_until


@contextmanager
def stuck(folder: Path) -> Iterator[Forked]:
    """A command that cannot say what it has to say, as nobody reads; it is killed in the end."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"), os.fdopen(writing, "wb", buffering=0) as full:
        os.set_blocking(writing, False)
        while full.write(b"x"):
            pass
        os.set_blocking(writing, True)
        process = Forked([HONED, "--help"], cwd=folder, env=environment(), stdout=full, stderr=full)
        try:
            yield process
        finally:
            if runs(process.pid):
                os.kill(process.pid, signal.SIGKILL)


def test_it_says_what_a_started_one_says_and_ends_as_it_does(tmp_path: Path) -> None:
    assert honed("no-such-verb", cwd=tmp_path) == honed("no-such-verb", cwd=tmp_path, program=HONED)


def test_it_holds_its_streams_alone_and_its_folder(tmp_path: Path) -> None:
    with stuck(tmp_path) as process:
        here = Path(f"/proc/{process.pid}")
        wait_until(lambda: {one.name for one in (here / "fd").iterdir()} == {"0", "1", "2"})
        wait_until(lambda: (here / "cwd").readlink() == tmp_path)
        assert (here / "fd" / "0").readlink() == Path(os.devnull)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait(PATIENCE_S) == -signal.SIGKILL


def test_a_dead_one_keeps_its_id_until_somebody_asks_how_it_ended(tmp_path: Path) -> None:
    with stuck(tmp_path) as process:
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.send_signal(signal.SIGKILL)
        wait_until(lambda: not runs(process.pid))
        os.kill(process.pid, signal.SIGKILL)  # nobody else has its id meanwhile, and it is no error
        assert process.wait(PATIENCE_S) == process.poll() == -signal.SIGKILL
        wait_until(lambda: not Path(f"/proc/{process.pid}").exists())
        process.send_signal(signal.SIGKILL)  # reaches nobody


def test_the_server_ends_with_whoever_it_serves_though_what_it_forked_runs_on(tmp_path: Path) -> None:
    with stuck(tmp_path) as process:
        status = Path(f"/proc/{process.pid}/status").read_text()
        server = int(status.split("PPid:")[1].split()[0])
        forked._server().close()  # as the kernel does where the tests are killed
        forked._server.cache_clear()
        wait_until(lambda: not runs(server))
        assert runs(process.pid)
        with pytest.raises(RuntimeError, match="the fork server has ended"):
            process.wait(PATIENCE_S)
