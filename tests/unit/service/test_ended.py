"""A daemon that is killed between a run's end and its job's: the job ends with that run, and no other is begun."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemon.config import load_config
from daemon.jobs.job import Cause, Job
from daemon.journal.records import Decision, RunRecord
from daemon.journal.sqlite import SqliteJournal
from daemon.optimizer.reporting import REPORT
from daemon.service.board import Board
from daemon.service.circuits import Circuits
from daemon.service.ended import ended_run, run_of
from daemon.service.leash import Leash
from daemon.service.project import Project
from daemon.service.runner import Runner
from daemon.telling.events import Bus
from tests.unit.service.test_projects import lay

AFTER = {"score": 0.75, "hard": 0.75, "soft": 0.8, "n": 12, "of": 12}
SAID = {
    "when": 150.0,
    "ended": "1 of 1 step made",
    "failed": False,
    "metric": "hard",
    "before": None,
    "after": AFTER,
    "best_digest": "sha256:0",
    "current_is_best": True,
}


def job(**more: Any) -> Job:
    return Job(1, "pdf", Cause("new", "x"), **{"state": "running", "created": 90.0, "started": 100.0, **more})


async def project(folder: Path, *, state: str = "done", report: bool = True, began: float = 120.0) -> Project:
    made = Project("pdf", load_config(lay(folder)))
    made.state.mkdir()
    now = [began]
    journal = SqliteJournal(made.state / "journal.sqlite", clock=lambda: now[0])
    await journal.open_run(RunRecord("r-1", "f", made.config.skill.path, "c", "open", began))
    await journal.begin_span("r-1")
    if report:
        await journal.save_decision(Decision("r-1", 0, REPORT, SAID))
    if state != "open":
        await journal.end_run("r-1", state)
    await journal.close()
    return made


async def test_the_run_of_a_job_is_the_one_that_was_worked_on_since_it_began(tmp_path: Path) -> None:
    found = await project(tmp_path)
    assert await run_of(found, job()) == "r-1"
    assert await run_of(found, job(started=130.0)) == ""
    assert await run_of(found, job(started=None)) == ""


async def test_without_a_journal_or_with_a_damaged_one_no_run_is_known(tmp_path: Path) -> None:
    bare = Project("pdf", load_config(lay(tmp_path)))
    assert await run_of(bare, job()) == ""
    assert await ended_run(bare, "r-1") is None
    bare.state.mkdir()
    (bare.state / "journal.sqlite").write_bytes(b"x" * 4096)
    assert await run_of(bare, job()) == ""


async def test_a_run_that_came_to_its_report_ends_the_job_without_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.service.runner.open_parts", _never)
    found = await project(tmp_path)
    end = await Runner(Bus(), Board(), Circuits()).run(found, job(run_id="r-1"), Leash())
    assert (end.state, end.reason, end.run_id) == ("done", "1 of 1 step made", "r-1")
    assert (end.accepted, end.score, end.tasks, end.branch) == (0, 0.75, 12, "honed/pdf")


@pytest.mark.parametrize(
    "how", [{"state": "open"}, {"state": "failed", "report": False}], ids=["unfinished", "ended otherwise"]
)
async def test_any_other_run_is_gone_on_with_or_begun_anew(tmp_path: Path, how: dict[str, Any]) -> None:
    found = await project(tmp_path, **how)
    assert await ended_run(found, "r-1") is None
    assert await ended_run(found, "r-2") is None


def _never(*_: object, **__: object) -> Callable[[], None]:
    raise AssertionError("a run was begun")
