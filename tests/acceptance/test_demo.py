"""The demo does the main job: real CLIs in real containers, edits sorted by the gate, commits that can be reverted."""

from __future__ import annotations

import json

import pytest

from tests.acceptance.conftest import WheelDemo
from tests.support.honed_cli import git, honed, journal_rows
from tests.support.sandboxes import docker_client

pytestmark = [pytest.mark.docker, pytest.mark.clis, pytest.mark.slow, pytest.mark.timeout(1200)]


def test_it_gets_better_on_both_splits_and_sorts_the_edits(wheel_demo: WheelDemo) -> None:
    assert wheel_demo.ran.code == 0, wheel_demo.ran.stderr[-3000:]
    result = wheel_demo.ran.result
    assert result["sandbox"] == "docker"
    assert result["harnesses"] == ["codex", "claude-code"]
    assert result["invalid"] == 0
    for split in ("selection", "test"):
        assert result["score"][split]["after"] > result["score"][split]["before"], result["score"]
    assert result["transfer"]["after"] > result["transfer"]["before"]
    edits = result["edits"]
    assert edits["accepted"] >= 1
    assert edits["rejected"] >= 1
    assert edits["proposed"] >= edits["accepted"] + edits["rejected"]
    assert result["repository"] == str(wheel_demo.folder)
    assert "SIMULATED" in wheel_demo.ran.stderr
    assert "It judges by one pass" in wheel_demo.ran.stderr


def test_its_commits_are_in_that_repository_with_their_evidence(wheel_demo: WheelDemo) -> None:
    result = wheel_demo.ran.result
    on_branch = git(wheel_demo.folder, "rev-list", "--reverse", "main..honed/spreadsheets").splitlines()
    assert on_branch == result["commits"]
    assert len(on_branch) == result["edits"]["accepted"]
    for commit in on_branch:
        assert git(wheel_demo.folder, "show", "--format=", "--name-only", commit) == "skills/spreadsheets/SKILL.md"
        trailers = git(wheel_demo.folder, "show", "-s", "--format=%(trailers:only)", commit)
        names = {line.split(":")[0] for line in trailers.splitlines() if line.startswith("Honed-")}
        assert names >= {
            f"Honed-{name}" for name in ("Run", "Step", "Skill", "Base", "Op", "Gate", "Target", "Optimizer")
        }
    assert git(wheel_demo.folder, "status", "--porcelain") == ""


def test_every_attempt_says_which_image_and_cli_it_ran_in(wheel_demo: WheelDemo) -> None:
    records = [json.loads(row[0]) for row in journal_rows(wheel_demo.folder, "SELECT record FROM attempts")]
    assert records
    assert {record["engine"]["engine"] for record in records} == {"docker"}
    assert all(record["engine"]["image_digest"].startswith("sha256:") for record in records)
    assert all(record["skill_opened"] for record in records)
    assert {tuple(record["versions"].values()) for record in records} >= {("0.171.0",), ("2.1.332",)}


def test_no_container_is_left(wheel_demo: WheelDemo) -> None:
    attempts = {row[0] for row in journal_rows(wheel_demo.folder, "SELECT attempt_id FROM attempts")}
    with docker_client() as client:
        labels = [container.labels for container in client.containers.list(all=True, ignore_removed=True)]
    assert not attempts & {value for label in labels for value in label.values()}


def test_reverting_an_edit_lowers_the_score_by_what_its_rule_repaired(wheel_demo: WheelDemo) -> None:
    """`git revert` of the newest edit (keys are normalised): just the tasks with untidy keys fail again."""
    folder, after = wheel_demo.folder, wheel_demo.ran.result["score"]["selection"]["after"]
    git(folder, "switch", "--quiet", "honed/spreadsheets")
    assert "Normalise keys" in git(folder, "show", "--format=", "HEAD")
    git(folder, "revert", "--no-edit", "HEAD")
    git(folder, "switch", "--quiet", "main")
    ran = honed("eval", "--json", cwd=folder, program=wheel_demo.program, limit_s=600)
    assert ran.code == 0, ran.stderr[-3000:]
    assert ran.result["commit"] == git(folder, "rev-parse", "honed/spreadsheets")
    keyed = {row["task"] for row in ran.result["results"] if "keys" in row["group"].split("+")}
    failed = {row["task"] for row in ran.result["results"] if not row["solved"]}
    assert keyed
    assert keyed <= failed
    assert ran.result["score"] == pytest.approx(after - len(keyed) / ran.result["tasks"])
    log = honed("log", "--json", cwd=folder, program=wheel_demo.program)
    assert [row["kind"] for row in log.result["commits"]][:2] == ["revert", "edit"]
