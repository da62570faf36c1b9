"""The reading verbs about any skill of the repository: by name, by folder, without a honed.toml too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon.cli.app import build
from skills_repo.finding import find_skill, skills_at
from skills_repo.git import Git
from skills_repo.history import Author, RepositoryError
from skills_repo.repository import SkillRepository
from tests.support.history import PATH, change, skill_project, step_message, with_lines
from tests.support.honed_cli import git
from tests.support.skills import lay, skill_text

OTHER = "team/deep/pdf"
"""Another skill of the repository; `twin` is there twice."""


@pytest.fixture
async def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: a project with `skills/xlsx`, `team/deep/pdf` and two skills of one name."""
    folder = skill_project(tmp_path / "p").parent
    for path in (OTHER, "a/twin", "b/twin"):
        name = path.rsplit("/", 1)[-1]
        lay(folder, {f"{path}/SKILL.md": skill_text("\n# R\n\n- line of " + path + "\n", name=name).encode()})
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Add more")
    history = SkillRepository(folder, PATH, author=Author("honed", "honed@localhost"))
    await history.commit_edits(await history.base(), [change(with_lines("- edited"), step_message())], 1_000)
    monkeypatch.chdir(folder)
    return folder


def asked(*words: str) -> Any:
    """The last line of a verb's JSON."""
    done = CliRunner().invoke(build(words[:1]), [*words, "--json"])
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("given", ["pdf", OTHER, f"./{OTHER}/", f"{OTHER}/SKILL.md", "team/../team/deep/pdf"])
def test_a_skill_is_named_by_name_or_folder(project: Path, given: str) -> None:
    assert find_skill(project, given, project) == OTHER


def test_a_folder_counts_from_where_one_stands_or_from_the_top(project: Path) -> None:
    assert find_skill(project, "deep/pdf", project / "team") == OTHER
    assert find_skill(project, OTHER, project / "team") == OTHER
    assert find_skill(project, str(project / OTHER), Path("/")) == OTHER


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("twin", r"2 skills are called 'twin': name one by its folder \(a/twin, b/twin\)"),
        (
            "nobody",
            r"there is no skill 'nobody' .*it has: a/twin, b/twin, skills/greeter, skills/xlsx, team/deep/pdf\)",
        ),
        ("../p2/skills", "there is no skill"),
        ("", "there is no skill"),
        ("--upload-pack=x", "there is no skill"),
        ("a\nb\0", "there is no skill"),
    ],
)
def test_what_is_no_skill_or_two_is_said(project: Path, given: str, words: str) -> None:
    with pytest.raises(RepositoryError, match=words):
        find_skill(project, given, project)


def test_a_skill_that_only_its_own_branch_has_is_found(project: Path) -> None:
    head = git(project, "rev-parse", "HEAD")
    git(project, "branch", "honed/pdf", head)
    git(project, "rm", "-q", "-r", OTHER)
    git(project, "commit", "-qm", "Remove it")
    assert OTHER not in skills_at(Git(project), "HEAD")
    assert find_skill(project, "pdf", project) == find_skill(project, OTHER, project) == OTHER


def test_log_and_why_read_the_skill_of_the_first_word(project: Path) -> None:
    assert [row["kind"] for row in asked("log")["commits"]] == ["edit", "human"]
    found = asked("log", "pdf")
    assert (found["skill"], [row["kind"] for row in found["commits"]]) == (OTHER, ["human"])
    assert asked("why", "- edited")["lines"][0]["written_by"] == "honed"
    assert asked("why", "pdf", "- line of")["lines"][0]["text"] == f"- line of {OTHER}"
    assert asked("why", "b/twin", "line of b")["skill"] == "b/twin"
    assert CliRunner().invoke(build(("why",)), ["why", "a", "b", "c"]).exit_code == 2


def test_the_words_of_diff_are_sorted_out(project: Path) -> None:
    head, edit = git(project, "rev-parse", "HEAD"), git(project, "rev-parse", "honed/xlsx")
    for words, skill, ends in (
        ((), PATH, (head, edit)),
        (("HEAD~1",), PATH, (git(project, "rev-parse", "HEAD~1"), edit)),
        (("xlsx",), PATH, (head, edit)),
        (("HEAD", "honed/xlsx"), PATH, (head, edit)),
        (("xlsx", "HEAD"), PATH, (head, edit)),
        (("pdf", "HEAD~1", "HEAD"), OTHER, (git(project, "rev-parse", "HEAD~1"), head)),
    ):
        found = asked("diff", *words)
        assert (found["skill"], found["before"], found["after"]) == (skill, *ends), words
    assert "there is no branch honed/pdf" in asked("diff", "pdf")["error"]["message"]
    git(project, "branch", "pdf", head)  # now the word is a commit as well, as it was before it was a skill
    assert asked("diff", "pdf")["skill"] == PATH
    assert CliRunner().invoke(build(("diff",)), ["diff", "a", "b", "c", "d"]).exit_code == 2


def test_without_a_configuration_history_is_read_all_the_same(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "honed.toml").unlink()
    assert "honed.toml" in asked("log")["error"]["message"], "no skill is named: the file is needed"
    monkeypatch.chdir(project / "team")
    assert asked("log", "xlsx")["skill"] == PATH
    assert asked("why", "deep/pdf", "line")["skill"] == OTHER
    monkeypatch.chdir("/")
    assert "is in no git repository" in asked("log", "xlsx")["error"]["message"]


def test_a_bare_repository_is_read_too(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(project, "clone", "-q", "--bare", str(project), str(tmp_path / "bare.git"))
    monkeypatch.chdir(tmp_path / "bare.git")
    assert [row["kind"] for row in asked("log", "xlsx")["commits"]] == ["edit", "human"]


def test_only_the_configured_skill_can_be_measured(project: Path) -> None:
    found = asked("bisect", "pdf")["error"]
    assert found["kind"] == "repository"
    assert f"honed.toml measures {PATH}, not {OTHER}" in found["message"]
    assert "--config" in found["message"]
