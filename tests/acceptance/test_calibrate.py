"""`honed calibrate` through the command line: A/A of the current skill, read back when asked again."""

from __future__ import annotations

from pathlib import Path

from tests.support.honed_cli import honed, journal_rows
from tests.support.projects import demo_project


def test_it_measures_the_noise_and_changes_nothing(tmp_path: Path) -> None:
    project = demo_project(tmp_path / "p", keep={"train": 2, "selection": 6, "test": 2}, chat=True)
    ran = honed("calibrate", "--trials", "2", "--json", cwd=project)
    assert ran.code == 0, ran.stderr[-2000:]
    assert (ran.result["tasks"], ran.result["trials"], ran.result["attempts"]) == (6, 2, 12)
    assert ran.result["flip_rate"] == 0
    assert set(ran.result["no_op_accepted"]) == {"strict", "paired"}
    assert len(ran.result["results"]) == 6
    kinds = journal_rows(project, "SELECT fingerprint, state FROM runs")
    assert kinds == [("calibrate", "done")]
    assert len(journal_rows(project, "SELECT record FROM attempts")) == 12
    again = honed("calibrate", "--trials", "2", "--json", cwd=project)
    assert again.code == 0
    assert again.result["results"] == ran.result["results"]
    assert len(journal_rows(project, "SELECT record FROM attempts")) == 12, "what is paid for is read back"


def test_one_trial_has_no_noise_to_show(tmp_path: Path) -> None:
    ran = honed("calibrate", "--trials", "1", "--json", cwd=tmp_path)
    assert ran.code == 2
    assert ran.result["error"]["kind"] == "usage"
