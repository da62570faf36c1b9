"""`honed tasks` from the outside: exit codes, JSON, what is written and what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.honed_cli import honed
from tests.support.tasks import GOLDEN, row, write_rows

COUNT = 60


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A set without splits."""
    return write_rows(
        tmp_path / "tasks.jsonl", *(row(f"t{number:02}", group=f"g{number % 2}") for number in range(COUNT))
    )


def test_split_then_check(tasks: Path) -> None:
    ran = honed("tasks", "split", tasks, "--ratio", "4:1:5", "--json", cwd=tasks.parent)
    assert ran.code == 0, ran.stderr
    assert ran.result["sizes"] == {"train": 24, "selection": 6, "test": 30}
    manifest = json.loads((tasks.parent / "tasks.splits.json").read_text())
    assert (manifest["digest"], manifest["ratio"], manifest["seed"]) == (ran.result["digest"], "4:1:5", 42)
    checked = honed("tasks", "check", "tasks.jsonl", "--json", cwd=tasks.parent)
    assert checked.code == 0, checked.stderr
    found = checked.result
    assert (found["passed"], found["split_from"], found["split_digest"]) == (True, "manifest", manifest["digest"])
    assert {proof["verdict"] for proof in found["proofs"]} == {"proved"}
    again = honed("tasks", "split", tasks, "--seed", "1", cwd=tasks.parent)
    assert again.code == 2
    assert "--force replaces it" in again.error
    assert json.loads((tasks.parent / "tasks.splits.json").read_text()) == manifest
    assert honed("tasks", "split", tasks, "--seed", "1", "--force", cwd=tasks.parent).code == 0
    assert json.loads((tasks.parent / "tasks.splits.json").read_text())["digest"] != manifest["digest"]


def test_a_split_too_small_says_how_small(tasks: Path) -> None:
    ran = honed("tasks", "split", tasks, "--ratio", "8:1:1", "--effect", "0.1", cwd=tasks.parent)
    assert ran.code == 2
    assert (
        "selection would have 6 of 60 tasks, which see a gain of 0.20 at best: it takes 24 to see 0.10, so 240"
        in ran.error
    )
    assert not (tasks.parent / "tasks.splits.json").exists()


def test_a_leak_fails_the_check(tasks: Path) -> None:
    prompt = "Read the invoice that lies in the folder and say which of the listed items was delivered late"
    rows = [row(f"s{number}", split="selection") for number in range(4)]
    rows += [row("a", prompt=prompt, split="train"), row("b", prompt=prompt.upper() + "!", split="selection")]
    write_rows(tasks, *rows)
    ran = honed("tasks", "check", tasks, "--no-run", "--json", cwd=tasks.parent)
    assert (ran.code, ran.result["passed"], len(ran.result["proofs"])) == (1, False, 6)
    assert "b (selection) is nearly the same task as a (train)" in ran.result["problems"][0]
    shown = honed("tasks", "check", tasks, "--no-run", cwd=tasks.parent)
    assert shown.code == 1
    assert "not fit to be run (1 problems)" in shown.stdout


def test_without_boxes_answers_are_tried_all_the_same(tasks: Path) -> None:
    (tasks.parent / "solve.sh").write_text("exit 1\n")
    rows = [row(f"s{number}") for number in range(COUNT)]
    script = {"solution": ["solve.sh"], "scorer": {"name": "file_checks", "checks": [{"path": "a"}]}}
    said = {"scorer": {"name": "regex", "all": ["^4$"]}, "solution": "5", "answer": None}
    write_rows(tasks, *rows, row("boxed", **script), row("wrong", **said))
    ran = honed("tasks", "check", tasks, "--no-run", "--json", cwd=tasks.parent)
    assert (ran.code, len(ran.result["proofs"])) == (1, COUNT + 1)
    assert [proof["task"] for proof in ran.result["proofs"] if proof["verdict"] != "proved"] == ["wrong"]


def test_too_few_tasks_to_train_on_are_not_called_a_good_set(tasks: Path) -> None:
    write_rows(tasks, row("alone"))
    ran = honed("tasks", "check", tasks, "--no-run", cwd=tasks.parent)
    assert ran.code == 0, "a task may be checked before there are enough"
    assert "nothing is wrong with the tasks, but they are too few to train on; 1 of 1 tasks proved" in ran.stdout


def test_the_configured_set_is_the_default(tmp_path: Path) -> None:
    ran = honed("tasks", "check", cwd=tmp_path)
    assert (ran.code, "honed.toml: no such file" in ran.error) == (2, True)
    ran = honed("tasks", "check", GOLDEN / "qa", cwd=tmp_path)
    assert ran.code == 0
    assert "10 tasks (jsonl) in 3 groups: train 4, selection 4, test 2 (by tasks)" in ran.stdout
    assert "1 of 10 have neither: nothing shows that they can be passed" in ran.stdout
    assert "nothing is wrong; 9 of 10 tasks proved" in ran.stdout
    missing = honed("tasks", "check", "nowhere", "--json", cwd=tmp_path)
    assert (missing.code, missing.result["error"]["kind"]) == (2, "tasks")
