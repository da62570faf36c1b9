"""`honed train` where a daemon keeps the project: queued there, followed to its end, reported as if it were its own."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daemon.cli import following_job
from daemon.jobs.job import Job
from daemon.journal.lock import state_lock
from daemon.rollouts.progress import AttemptFinished, PhaseStarted, RunEnded, RunStarted, StepDecided
from daemon.telling.observing import Publisher
from tests.support.control import Beside, EndingDesk, Said, verb
from tests.support.desk import a_project, a_status
from tests.support.projects import demo_project
from tests.support.waiting import PATIENCE_S, interrupt, once, wait_until

_OWN = ("wall_s", "resumed", "sandbox")
"""What each process has of its own."""


@pytest.fixture(scope="module")
def toml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained") / "p"
    demo_project(folder, keep={"train": 3, "selection": 4, "test": 2}, chat=True)
    return folder / "honed.toml"


@pytest.fixture
def alone(toml: Path, capsys: Any) -> Said:
    """What `honed train` says of it, run in its own process; the second time everything is read back."""
    return verb("train --alone --no-preflight --json", toml, capsys)


Script = Callable[[EndingDesk, Job], None]


def desk_of(toml: Path, script: Script | None = None) -> EndingDesk:
    project = a_project("greeting", file=str(toml))
    return EndingDesk(shown=a_status(project, engine="Docker 27.1", pid=os.getpid() + 1), script=script)


def plays(run_id: str, end: dict[str, Any] | None = None, steps: int = 1) -> Script:
    """A run as a daemon tells it, and its job's end."""

    def play(desk: EndingDesk, job: Job) -> None:
        desk.end(job.number, state="running", tries=1, started=5.0)
        tell = Publisher(desk.events, "greeting", job.number).notify
        other = Publisher(desk.events, "another", job.number + 7).notify
        tell(RunStarted(run_id, "skills/text", resumed=True, steps=steps, train=3, selection=4, test=2))
        other(RunStarted("r-other", "skills/other", resumed=False, steps=9, train=3, selection=4, test=2))
        tell(PhaseStarted(1, "rollout"))
        tell(AttemptFinished("a1", "task-1", "chat", "completed", 1.0, True, 1200, 0.0, 0.5, reused=False))
        tell(StepDecided(1, steps, "accepted", "2 fixed", 0.25, 0.75, 2, replayed=False))
        tell(RunEnded(run_id, "done", "made"))
        desk.events.publish("published", "pushed", project="greeting", job=job.number, outcome="pushed", url="u")
        told = {"state": "done", "run_id": run_id, "ended": time.time(), "reason": "made"}
        desk.end(job.number, **(told | (end or {})))

    return play


def test_the_run_is_queued_followed_and_reported_as_its_own(toml: Path, alone: Said, capsys: Any) -> None:
    assert alone.code == 0
    run_id = alone.result["run"]
    desk = desk_of(toml, plays(run_id))
    with Beside(desk, toml.parent / ".honed"):
        said = verb("train --json", toml, capsys)
        text = verb("train --no-preflight", toml, capsys)
    assert desk.asked == [("train", str(toml)), ("train", str(toml))]
    assert "--no-preflight is not for a daemon" in text.err
    assert (said.code, said.out.count("\n")) == (0, 1)
    own = {name: value for name, value in alone.result.items() if name not in _OWN}
    published = {"outcome": "pushed", "reason": None, "url": "u"}
    assert {name: said.result[name] for name in own} == {**own, "published": published}
    assert (said.result["resumed"], said.result["sandbox"]) == (True, "docker")
    for line in (
        "job 1 is queued at the daemon: Ctrl-C leaves it to it, `honed cancel 1` ends it",
        f"run {run_id} goes on: skills/text, 1 steps, train 3, selection 4, test 2 (sealed)",
        "step 1 · rollout",
        "  task-1                   chat         completed          1.00    1,200 tokens 0.5 s\n",
        "step 1/1 accepted 0.250 -> 0.750: 2 fixed",
    ):
        assert line in said.err
    assert "r-other" not in said.err
    assert "--no-preflight" not in said.err
    assert "selection      " in text.out
    assert "honed/text" in text.out


@pytest.mark.parametrize(
    ("end", "code", "kind", "says"),
    [
        ({"state": "failed", "run_id": "", "reason": "[target] no key"}, 1, "failed", "job 1 failed: [target] no key"),
        ({"state": "cancelled", "reason": "by a person"}, 1, "cancelled", "job 1 cancelled: by a person"),
        (
            {"state": "queued", "ended": None, "reason": "used up", "not_before": time.time() + 9_000},
            3,
            "stopped",
            "used up: job 1 goes on by itself, not before ",
        ),
    ],
)
def test_another_end_is_one_line_and_a_code(
    toml: Path, capsys: Any, end: dict[str, Any], code: int, kind: str, says: str
) -> None:
    with Beside(desk_of(toml, plays("rx", end)), toml.parent / ".honed"):
        said = verb("train --json", toml, capsys)
    assert (said.code, said.result["error"]["kind"]) == (code, kind)
    assert said.result["error"]["message"].startswith(says)


def test_the_daemon_s_kind_of_error_gives_the_code_that_working_alone_has(toml: Path, capsys: Any) -> None:
    def play(desk: EndingDesk, job: Job) -> None:
        row = replace(job, state="queued", tries=1, reason="[budget.day] is used up", not_before=time.time() + 9_000)
        desk.queue = (row,)
        desk.events.publish("job", "waits", project="greeting", job=job.number, state="queued", error="budget")

    with Beside(desk_of(toml, play), toml.parent / ".honed"):
        said = verb("train --json", toml, capsys)
    assert (said.code, said.result["error"]["kind"]) == (4, "budget")


def test_a_short_wait_is_waited_for(toml: Path, alone: Said, capsys: Any) -> None:
    def play(desk: EndingDesk, job: Job) -> None:
        desk.end(job.number, state="queued", tries=1, reason="moved", not_before=time.time() + 0.3)
        later = asyncio.get_running_loop().call_later
        later(0.3, plays(alone.result["run"]), desk, job)

    with Beside(desk_of(toml, play), toml.parent / ".honed"):
        assert verb("train --json", toml, capsys).code == 0


def test_a_job_whose_work_another_one_does_is_followed_there(toml: Path, alone: Said, capsys: Any) -> None:
    def play(desk: EndingDesk, job: Job) -> None:
        other = replace(job, number=9, state="running", started=5.0, tries=1)
        desk.queue = (replace(job, state="joined", ended=5.0, reason="done by job 9"), other)
        plays(alone.result["run"])(desk, other)

    with Beside(desk_of(toml, play), toml.parent / ".honed"):
        said = verb("train --json", toml, capsys)
    assert said.code == 0, said
    assert said.result["run"] == alone.result["run"]
    assert "job 1 joined job 9, which does its work too" in said.err


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_leaving_leaves_the_job_alone(toml: Path, capsys: Any, sign: signal.Signals) -> None:
    desk = desk_of(toml)
    with Beside(desk, toml.parent / ".honed"):
        once(lambda: desk.events._listeners, lambda: interrupt(sign))
        said = verb("train --json", toml, capsys)
    assert (said.code, said.result["error"]["kind"]) == (130, "detached")
    assert "job 1 goes on at the daemon: `honed events --follow` shows it" in said.result["error"]["message"]
    assert desk.asked == [("train", str(toml))]
    assert desk.queue[0].state == "queued"


def test_a_daemon_that_starts_again_is_found_again(toml: Path, alone: Said, capsys: Any) -> None:
    desk = desk_of(toml)
    state = toml.parent / ".honed"

    def restart() -> None:
        wait_until(lambda: desk.events._listeners)
        first.__exit__()
        again = replace(desk, events=type(desk.events)())
        with Beside(again, state) as second:
            second.do(plays(alone.result["run"]), again, desk.queue[0])
            ended.wait(PATIENCE_S)

    ended, first = threading.Event(), Beside(desk, state)
    first.__enter__()
    thread = threading.Thread(target=restart)
    thread.start()
    said = verb("train --json", toml, capsys)
    ended.set()
    thread.join()
    assert said.code == 0
    assert "job 1 goes on when it is back: waiting for it" in said.err


def test_one_that_does_not_come_back_is_one_line(toml: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following_job, "BACK_S", 0.2)
    desk = desk_of(toml)
    beside = Beside(desk, toml.parent / ".honed")
    beside.__enter__()
    once(lambda: desk.events._listeners, beside.__exit__)
    said = verb("train --json", toml, capsys)
    assert (said.code, said.result["error"]["kind"]) == (1, "daemon")
    assert "did not come back: job 1 goes on when it is started again" in said.result["error"]["message"]


def test_a_daemon_of_another_file_in_this_folder_is_no_keeper(toml: Path, capsys: Any) -> None:
    other = toml.with_name("other.toml")
    other.write_text(toml.read_text())
    desk = desk_of(toml)
    with Beside(desk, toml.parent / ".honed"):
        said = verb("train --json --no-preflight", other, capsys)
    assert said.code == 0
    assert "but does not keep other.toml: working alone" in said.err
    assert desk.asked == []


def test_alone_asks_no_daemon_and_fails_where_the_state_is_held(toml: Path, capsys: Any) -> None:
    desk = desk_of(toml)
    with Beside(desk, toml.parent / ".honed"), state_lock(toml.parent / ".honed"):
        said = verb("train --alone --json", toml, capsys)
    assert (said.code, said.result["error"]["kind"]) == (1, "journal")
    assert desk.asked == []


def test_what_the_daemon_refuses_is_its_own_sentence(toml: Path, capsys: Any) -> None:
    desk = desk_of(toml)
    desk.refuses = "the daemon is draining"
    with Beside(desk, toml.parent / ".honed"):
        said = verb("train --json", toml, capsys)
    assert (said.code, said.result["error"]) == (1, {"kind": "refused", "message": "the daemon is draining"})
