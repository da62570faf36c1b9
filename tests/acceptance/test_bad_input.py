"""Bad input: one clear error that names file, line and remedy, exit code 2, and nothing left behind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.honed_cli import HONED, Ran, environment, git, honed
from tests.support.projects import SKILL, chat_project, greeting_tasks

ADDRESS = "http://127.0.0.1:9/v1"


def train(project: Path) -> Ran:
    return honed("train", "--json", cwd=project, env=environment(TEST_API_KEY="sk-test-0123456789abcdefghij"))


def refused(project: Path, *words: str) -> None:
    ran = train(project)
    assert ran.code == 2, ran.stderr
    assert "Traceback" not in ran.stderr
    for word in words:
        assert word in ran.error, ran.error
    assert ran.result["error"]["message"] == ran.error


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return chat_project(tmp_path / "p", ADDRESS)


def _toml(project: Path, change: Callable[[str], str]) -> None:
    file = project / "honed.toml"
    file.write_text(change(file.read_text()))


def test_no_configuration(tmp_path: Path) -> None:
    refused(tmp_path, "honed.toml", "honed init")


def test_a_missing_key(project: Path) -> None:
    _toml(project, lambda text: text.replace('harness = "chat"\n', ""))
    refused(project, "honed.toml", "[target] harness")


def test_a_malformed_value_names_its_line(project: Path) -> None:
    _toml(project, lambda text: text.replace("batch = 2", 'batch = "many"'))
    line = (project / "honed.toml").read_text().splitlines().index('batch = "many"') + 1
    refused(project, f"honed.toml:{line}", "[train] batch")


def test_an_unknown_key_comes_with_the_nearest_name(project: Path) -> None:
    _toml(project, lambda text: text.replace("epochs = 1", "epocks = 1"))
    refused(project, "epocks", "epochs")


def test_broken_toml_names_its_line(project: Path) -> None:
    _toml(project, lambda text: text.replace("[tasks]", "[tasks"))
    refused(project, "honed.toml:4")


def test_a_bad_line_in_the_tasks(project: Path) -> None:
    tasks = project / "tasks.jsonl"
    tasks.write_text(tasks.read_text() + "{not json}\n")
    refused(project, "tasks.jsonl:9")


def test_a_duplicate_id(project: Path) -> None:
    tasks = project / "tasks.jsonl"
    first = tasks.read_text().splitlines()[0]
    tasks.write_text(tasks.read_text() + first + "\n")
    refused(project, "tasks.jsonl:9", json.loads(first)["id"])


def test_an_empty_split(tmp_path: Path) -> None:
    project = chat_project(tmp_path / "p", ADDRESS, tasks=greeting_tasks(selection=0))
    refused(project, "tasks.jsonl", "selection")


def test_too_small_a_selection_split(tmp_path: Path) -> None:
    project = chat_project(tmp_path / "p", ADDRESS, tasks=greeting_tasks(selection=2))
    refused(project, "tasks.jsonl", "selection", "4")


def test_an_unknown_scorer(tmp_path: Path) -> None:
    rows = greeting_tasks()
    rows[3]["scorer"] = "vibes"
    project = chat_project(tmp_path / "p", ADDRESS, tasks=rows)
    refused(project, "tasks.jsonl:4", "vibes", "exact_match")


def test_a_skill_without_frontmatter(project: Path) -> None:
    skill = project / "skills" / "greeter" / "SKILL.md"
    skill.write_text(SKILL.split("---\n", 2)[2])
    git(project, "commit", "--quiet", "--all", "--message", "Drop the frontmatter")
    refused(project, "skills/greeter/SKILL.md", "frontmatter")


def test_a_skill_over_the_size_cap_is_refused_before_it_is_paid_for(project: Path) -> None:
    skill = project / "skills" / "greeter" / "SKILL.md"
    skill.write_text(SKILL + "x" * 20_000 + "\n")
    git(project, "commit", "--quiet", "--all", "--message", "Grow")
    refused(project, "skills/greeter/SKILL.md", "max_chars = 20000")


def test_a_dirty_skill(project: Path) -> None:
    skill = project / "skills" / "greeter" / "SKILL.md"
    skill.write_text(SKILL + "\nOne more line.\n")
    refused(project, "skills/greeter", "uncommitted", "commit")
    assert skill.read_text().endswith("One more line.\n")


def test_no_repository(tmp_path: Path) -> None:
    project = chat_project(tmp_path / "p", ADDRESS)
    (project / ".git").rename(project / "was-git")
    refused(project, "git")


def test_a_branch_that_is_checked_out(project: Path) -> None:
    git(project, "branch", "honed/greeter")
    git(project, "switch", "--quiet", "honed/greeter")
    refused(project, "honed/greeter", "checked out", "switch")
    assert git(project, "status", "--porcelain", "--untracked-files=no") == ""


def test_a_second_honed_in_the_same_place(project: Path) -> None:
    from daemon.journal.lock import state_lock

    with state_lock(project / ".honed"):
        ran = train(project)
    assert ran.code == 1
    assert "in use by process" in ran.error


def test_a_damaged_journal_is_named(project: Path) -> None:
    state = project / ".honed"
    state.mkdir()
    state.joinpath("journal.sqlite").write_bytes(b"not a database" * 100)
    ran = train(project)
    assert ran.code == 1
    assert "journal.sqlite" in ran.error


def test_unknown_refs_are_named(project: Path) -> None:
    ran = honed("eval", "--json", "--ref", "no-such", cwd=project, env=environment(TEST_API_KEY="sk-test-0123456789"))
    assert ran.code == 2
    assert "no-such" in ran.error


@pytest.mark.parametrize("verb", ["init", "setup", "doctor", "train", "eval", "log", "demo"])
def test_every_verb_has_help_with_an_example_and_json(verb: str, tmp_path: Path) -> None:
    ran = honed(verb, "--help", cwd=tmp_path, program=HONED)
    assert ran.code == 0
    assert f"honed {verb}" in ran.stdout.split("Example:")[1]
    assert "--json" in ran.stdout


def test_init_then_doctor_names_what_is_missing(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    made = honed("init", "--skill", "skills/pdf-forms", "--harness", "chat", "--model", "m", "--json", cwd=tmp_path)
    assert made.code == 0, made.stderr
    assert {Path(path).name for path in made.result["written"]} == {"honed.toml", "SKILL.md", "tasks.jsonl"}
    again = honed("init", "--skill", "skills/pdf-forms", "--json", cwd=tmp_path)
    assert again.code == 2
    assert "exists already" in again.error
    ran = honed("doctor", "--json", cwd=tmp_path)
    assert ran.code == 1
    rows = {check["name"]: check for check in ran.result["checks"]}
    failing = {name: check for name, check in rows.items() if check["state"] == "fail"}
    assert failing
    assert all(check["remedy"] for check in failing.values())
    assert any("OPENAI_API_KEY" in check["detail"] + check["remedy"] for check in failing.values())
