"""Verbs beside a real `honed daemon`: `honed train` runs there, and what a killed one left misleads nobody."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.support.daemons import daemon
from tests.support.honed_cli import edits, honed
from tests.support.projects import demo_project

pytestmark = [pytest.mark.slow]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return demo_project(tmp_path / "project", keep={"train": 4, "selection": 4, "test": 2}, chat=True)


def test_train_runs_at_the_daemon_and_a_kill_leaves_nothing_that_misleads(project: Path) -> None:
    with daemon(project) as one:
        trained = honed("--log-text", "train", "--json", cwd=project)
        assert trained.code == 0, trained.stderr
        assert "is queued at the daemon" in trained.stderr
        assert " begins: skills/text" in trained.stderr or " goes on: skills/text" in trained.stderr
        job = next(job for job in one.jobs() if job.run_id == trained.result["run"])
        assert (job.score, job.accepted) == (
            trained.result["score"]["selection"]["after"],
            trained.result["edits"]["accepted"],
        )
        shown = honed("show", job.run_id, "--json", cwd=project).result
        assert [sha for step in shown["steps"] for sha in step["commits"]] == trained.result["commits"]
        one.until(one.settled, "all jobs have ended")
        assert one.end(signal.SIGKILL) != 0
    assert (project / ".honed" / "control.sock").exists()
    assert (project / ".honed" / "daemon.json").exists()
    left = honed("status", "--json", cwd=project)
    assert (left.code, left.result["running"]) == (0, False)
    before = edits(project, "honed/text")
    alone = honed("train", "--json", cwd=project)
    assert (alone.code, "queued at the daemon" in alone.stderr) == (0, False)
    assert edits(project, "honed/text")[: len(before)] == before
    with daemon(project) as again:
        assert honed("pause", "text", "--reason", "a release", cwd=project).code == 0
        assert again.project().state == "paused"
        assert again.end() == 0
    assert not (project / ".honed" / "daemon.json").exists()
