"""`honed daemon` as a process: it notices what people do, trains, commits, drains, and goes on after `kill -9`."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.support.daemons import Daemon, daemon
from tests.support.honed_cli import edits, git, honed, journal_rows, scored_count
from tests.support.projects import demo_project

pytestmark = [pytest.mark.slow]

KEEP = {"train": 4, "selection": 6, "test": 4}
BRANCH = "honed/text"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return demo_project(tmp_path / "project", keep=KEEP, chat=True)


def causes(one: Daemon) -> list[str]:
    return [job.cause.kind for job in one.jobs()]


def waits_for(one: Daemon) -> str:
    """Why jobs wait; which of several causes at once was seen first is nobody's promise."""
    return "; ".join(job.reason for job in one.jobs() if job.state == "queued")


def came(one: Daemon, kind: str) -> None:
    """A job of this kind came, and all have ended."""
    one.until(lambda: kind in causes(one) and one.settled(), f"a job of the kind {kind}")


def test_it_trains_what_it_does_not_know_and_then_again_until_nothing_is_gained(project: Path) -> None:
    with daemon(project, through=()) as one:
        came(one, "new")
        one.until(lambda: one.jobs()[-1].accepted == 0, "a run in vain")
        status = one.project()
        assert (status.name, status.branch, status.state, status.accepted) == ("text", BRANCH, "idle", 2)
        assert status.score == pytest.approx(5 / 6)
        shown = honed("status", "--json", cwd=project)
        assert (shown.code, shown.result["status"]["projects"][0]["name"]) == (0, "text")
        assert one.end() == 0
    assert len(edits(project, BRANCH)) - len(edits(project, "main")) == 2
    ended = [line for line in one.lines() if line["event"] == "daemon stopped"]
    assert len(ended) == 1
    assert not (project / ".honed" / "control.sock").exists()


def test_acts_of_people_become_runs_and_what_changes_nothing_does_not(project: Path) -> None:
    with daemon(project) as one:
        came(one, "new")
        one.until(lambda: one.jobs()[-1].accepted == 0, "a run in vain")
        known = len(one.jobs())
        tasks = project / "tasks" / "tasks.jsonl"
        os.utime(tasks)
        looks = one.status().events
        (project / "honed.toml").write_text((project / "honed.toml").read_text() + "\n[daemon]\npoll_s = 50.0\n")
        one.until(lambda: one.status().events > looks, "it took over the file")
        skill = project / "skills" / "text" / "SKILL.md"
        skill.write_text(skill.read_text() + "\nBe brief.\n")
        git(project, "commit", "-q", "-a", "-m", "Ask for brevity")
        came(one, "skill")
        assert causes(one)[known] == "skill", "neither a touched file nor a key of the daemon alone was a cause"
        kept = git(project, "log", "--format=%H", "-1", "--grep=Honed-Run", BRANCH)
        git(project, "checkout", "-q", BRANCH)
        git(project, "revert", "--no-edit", kept)
        one.until(lambda: "branch honed/text is checked out" in waits_for(one), "it says why it waits")
        git(project, "checkout", "-q", "main")
        came(one, "taken-back")
        lines = tasks.read_text().splitlines(keepends=True)
        fresh = project / "tasks" / "new.jsonl"
        fresh.write_text("".join(lines[:-1]))
        fresh.rename(tasks)
        came(one, "tasks")
        assert one.end() == 0


def test_killed_again_and_again_it_ends_where_an_undisturbed_one_ends(project: Path, tmp_path: Path) -> None:
    calm = demo_project(tmp_path / "calm", keep=KEEP, chat=True)
    with daemon(calm) as one:
        one.until(lambda: one.settled() and one.jobs()[-1].accepted == 0, "a run in vain")
        one.end()
    total = scored_count(calm)
    for count in range(0, total, max(1, total // 3)):
        with daemon(project) as one:
            one.until(lambda: scored_count(project) > count or one.settled(), "it gets on")  # noqa: B023 - called here
            one.end(signal.SIGKILL)
    with daemon(project) as one:
        one.until(lambda: one.settled() and one.jobs()[-1].accepted == 0, "a run in vain")
        tries = [job.tries for job in one.jobs() if job.state == "done"]
        one.end()
    assert max(tries) > 1, "no kill hit a run"
    assert edits(project, BRANCH) == edits(calm, BRANCH)
    assert scored_count(project) == total
    scored = journal_rows(project, "SELECT key FROM attempts WHERE score IS NOT NULL")
    assert len(scored) == len(set(scored)), "nothing was paid twice"


def test_a_second_daemon_is_refused_and_a_run_by_hand_waits_for_nobody(project: Path) -> None:
    with daemon(project) as one:
        second = honed("daemon", cwd=project)
        assert second.code == 1
        assert f"process {one.process.pid}" in second.error
        assert one.end() == 0


def test_what_runs_is_finished_when_it_is_told_to_stop_and_the_job_goes_on_later(project: Path) -> None:
    with daemon(project) as one:
        one.until(lambda: scored_count(project) > 0, "it begins")
        assert one.end() == 0
    states = journal_rows(project, "SELECT DISTINCT state FROM attempts")
    assert states == [("finished",)], "nothing was cut off"
    with daemon(project) as one:
        came(one, "new")
        assert one.jobs()[0].state == "done"
        assert one.end() == 0


def test_a_configuration_that_breaks_is_said_and_the_last_good_one_counts(project: Path) -> None:
    good = (project / "honed.toml").read_text()
    with daemon(project) as one:
        one.until(one.settled, "it is done")
        (project / "honed.toml").write_text("[skill\n")
        one.until(lambda: any(trouble.name == "config" for trouble in one.status().troubles), "it is said")
        assert one.project().state == "broken"
        (project / "honed.toml").write_text(good)
        one.until(lambda: not one.status().troubles, "it is over")
        assert one.end() == 0


def test_it_does_not_start_without_a_usable_file(tmp_path: Path) -> None:
    ran = honed("daemon", cwd=tmp_path)
    assert ran.code == 2
    assert "honed.toml: no such file" in ran.error
