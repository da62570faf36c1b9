"""`honed harvest` end to end: sessions in, a draft out, a task once a person has accepted it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon.cli.app import build
from daemon.tasks.load import load_tasks
from tests.support.sessions import SKILL, troubled

TOML = f"""
[skill]
path = "skills/{SKILL}"
[tasks]
path = "tasks/tasks.jsonl"
[target]
harness = "chat"
model = "m"
[optimizer]
model = "o"
"""


@pytest.fixture(name="project")
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "honed.toml").write_text(TOML)
    (tmp_path / "tasks").mkdir()
    rows = [
        {"id": f"t{n}", "prompt": f"Say {n}.", "answer": f"{n}", "scorer": "exact_match", "split": split}
        for split in ("train", "selection")
        for n in ([0, 1] if split == "train" else range(2, 8))
    ]
    (tmp_path / "tasks" / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for number in range(3):
        troubled(number).write(tmp_path / "s" / f"{number}.jsonl")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(build(("inbox",)), ["inbox", "add", "s"])
    assert done.exit_code == 0, done.output
    return tmp_path


def harvest(*words: str, code: int = 0) -> dict[str, Any]:
    done = CliRunner().invoke(build(("harvest",)), ["harvest", *words, "--json"])
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_from_sessions_to_a_task(project: Path) -> None:
    assert harvest("--list")["drafts"] == []
    made = harvest()["drafts"]
    assert [(one["kind"], one["sessions"], one["new"], one["verified"]) for one in made] == [
        ("correction", 3, True, False),
        ("error", 3, True, False),
    ]
    assert [one["new"] for one in harvest()["drafts"]] == [False, False]
    draft, other = made[0]["id"], made[1]["id"]
    assert "still the stub" in harvest("--accept", draft, code=2)["error"]["message"]
    (Path(made[0]["folder"]) / "tests" / "test.sh").write_text("echo 1 > /logs/verifier/reward.txt\n")
    assert len(load_tasks(project / "tasks" / "tasks.jsonl").tasks) == 8
    assert harvest("--accept", draft, "--split", "selection")["split"] == "selection"
    tasks = load_tasks(project / "tasks" / "tasks.jsonl")
    assert draft in [task.id for task in tasks.split("selection")]
    assert [one["id"] for one in harvest()["drafts"]] == [other], "what is a task is not drafted again"
    assert harvest("--drop", other) == {"drafts": [], "dropped": other}
    assert harvest()["drafts"] == [], "what was dropped does not come back"


def test_how_many_sessions_it_takes_can_be_said(project: Path) -> None:
    assert harvest("--least", "4")["drafts"] == []
    (project / "honed.toml").write_text(TOML + "[inbox]\nharvest_sessions = 4\n")
    assert harvest()["drafts"] == []
    assert len(harvest("--least", "3")["drafts"]) == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--list", "--drop", "x"], "give one of"),
        (["--split", "train"], "goes with --accept"),
        (["--accept", "x", "--split", "gate"], "one of train, selection, test"),
        (["--accept", "nosuch"], "no such draft"),
        (["--drop", "../../etc"], "no task id"),
    ],
)
def test_what_makes_no_sense_is_said(project: Path, words: list[str], why: str) -> None:
    assert why in harvest(*words, code=2)["error"]["message"]
    assert not (project / "tasks" / "drafts").exists()


def test_people_read_what_is_left_to_do(project: Path) -> None:
    done = CliRunner().invoke(build(("harvest",)), ["harvest"])
    assert "3 sessions, needs a verifier" in " ".join(done.output.split())
    readme = next((project / "tasks" / "drafts").glob("correction-*/README.md")).read_text()
    assert "It is no task" in readme
    assert "No, that is wrong: the header must stay" in readme
