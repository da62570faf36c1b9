"""What people do in git teaches: each accepted edit of the demo reverted, one by one, is never proposed again.

The chat demo: real git, the real command, the simulated model and optimizer, which always answer alike.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from daemon.demo.repository import prepare
from tests.support.honed_cli import git, honed, journal_rows

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
BRANCH = "honed/text"
SKILL = "skills/text/SKILL.md"


def train(folder: Path) -> dict[str, Any]:
    ran = honed("train", "--json", "--no-preflight", cwd=folder, limit_s=300)
    assert ran.code == 0, ran.stderr[-3000:]
    return ran.result


def decisions(folder: Path, run: str) -> list[dict[str, Any]]:
    rows = journal_rows(folder, f"SELECT payload FROM decisions WHERE run_id = '{run}' AND kind = 'step' ORDER BY step")
    return [json.loads(row[0]) for row in rows]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("people") / "demo"
    prepare(folder, chat=True, workers=2)
    result = train(folder)
    assert len(result["commits"]) == result["edits"]["accepted"] >= 3
    return folder, result


def added(folder: Path, commit: str) -> str:
    shown = git(folder, "show", "--format=", "--unified=0", commit, "--", SKILL)
    [line] = [line[1:] for line in shown.splitlines() if line.startswith("+") and not line.startswith("+++")]
    return line.strip()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_reverted_edit_of_the_demo_is_never_proposed_again_and_the_reason_is_named(
    trained: tuple[Path, dict[str, Any]], tmp_path: Path, number: int
) -> None:
    original, result = trained
    folder = tmp_path / "demo"
    shutil.copytree(original, folder)
    commit = result["commits"][number]
    text, reason = added(folder, commit), f"Reason {number}: our readers want it otherwise."
    git(folder, "switch", "--quiet", BRANCH)
    git(folder, "revert", "--no-edit", commit)
    said = git(folder, "log", "-1", "--format=%B")
    git(folder, "commit", "--quiet", "--amend", "--message", f"{said}\n\n{reason}")
    git(folder, "switch", "--quiet", "main")
    for _ in range(2 if number == 0 else 1):  # neither by the next run, nor by the one after it
        again = train(folder)
        assert not any(text in added(folder, one) for one in again["commits"])
        skill = git(folder, "show", f"{BRANCH}:{SKILL}")
        assert text not in skill
        steps = decisions(folder, again["run"])
        applied = [row["edit"]["content"] for step in steps for row in step["report"] if row["status"] == "applied"]
        assert not any(text in content for content in applied), "it does not even come to the gate"
        [told] = journal_rows(
            folder, f"SELECT payload FROM decisions WHERE run_id = '{again['run']}' AND kind = 'people'"
        )
        [known] = json.loads(told[0])["taken_back"]
        assert known["commit"] == commit
        assert known["reason"] == reason
        assert text in known["edit"]["content"]


def test_a_persons_change_on_main_is_followed_and_its_own_run_is_measured_anew(
    trained: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    original, result = trained
    folder = tmp_path / "demo"
    shutil.copytree(original, folder)
    text = (folder / SKILL).read_text()
    (folder / SKILL).write_text(text + "\nKeep a friendly tone.\n")
    git(folder, "commit", "--quiet", "--all", "--message", "Be friendly")
    mine = git(folder, "rev-parse", "HEAD")
    before = git(folder, "status", "--porcelain=v2", "--branch")
    again = train(folder)
    followed = again["followed"]
    assert (followed["onto"], [row["old"] for row in followed["edits"]]) == (mine, result["commits"])
    assert all(row["new"] for row in followed["edits"])
    assert git(folder, "merge-base", BRANCH, "main") == mine
    assert git(folder, "status", "--porcelain=v2", "--branch") == before
    assert again["run"] != result["run"]
    assert again["score"]["selection"]["before"] == result["score"]["selection"]["after"]
    log = honed("log", "--json", cwd=folder).result
    assert {row["run"] for row in log["curve"]} >= {result["run"]}
    assert "Keep a friendly tone." in git(folder, "show", f"{BRANCH}:{SKILL}")
