from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harnesses.workspace import (
    WorkspaceError,
    asked,
    changes,
    foreign_skills,
    plain_path,
    skill_folder,
    start_of,
    workspace_files,
)
from sandboxes.sandbox import Collected, Root
from tests.support.harnesses import SKILL, assignment


def test_task_files_and_skill_side_by_side(tmp_path: Path) -> None:
    files = workspace_files(assignment(tmp_path), skills_root=".agents/skills")
    assert list(files) == [
        ".agents/skills/answer-writer/SKILL.md",
        ".agents/skills/answer-writer/scripts/count.sh",
        "SKILL.md",
        "input.csv",
    ]
    assert files["SKILL.md"] == files[".agents/skills/answer-writer/SKILL.md"] == SKILL.files["SKILL.md"]


def test_the_skill_lies_where_the_agent_starts(tmp_path: Path) -> None:
    root = Root("sha256:1", "/app", "/app/work")
    given = assignment(tmp_path, files={"SKILL.md": b"the task's", "work/in.csv": b"1"}, root=root)
    files = workspace_files(given, skills_root=".agents/skills")
    assert files["work/.agents/skills/answer-writer/SKILL.md"] == files["work/SKILL.md"] == SKILL.files["SKILL.md"]
    assert (files["SKILL.md"], files["work/in.csv"]) == (b"the task's", b"1")
    with pytest.raises(WorkspaceError, match=r"work/SKILL\.md' would hide the skill"):
        workspace_files(replace(given, files={"work/SKILL.md": b"x"}))
    assert [start_of(replace(given, root=one)) for one in (root, replace(root, workdir="/app"), None)] == [
        "work/",
        "",
        "",
    ]


def test_without_a_root_only_the_file_beside_the_task(tmp_path: Path) -> None:
    assert list(workspace_files(assignment(tmp_path))) == ["SKILL.md", "input.csv"]


def test_without_a_skill_the_task_alone(tmp_path: Path) -> None:
    files = {"SKILL.md": b"mine", "b": b"2", "a": b"1"}
    given = assignment(tmp_path, skill=None, files=files)
    assert list(workspace_files(given, skills_root=".agents/skills").items()) == sorted(files.items())


@pytest.mark.parametrize(
    "path", ["SKILL.md", "./SKILL.md", ".agents/skills/answer-writer/SKILL.md", ".agents/skills//answer-writer/x"]
)
def test_a_task_file_may_not_hide_the_skill(tmp_path: Path, path: str) -> None:
    with pytest.raises(WorkspaceError, match=r"task t-1: its file .* would hide the skill: rename it in the task"):
        workspace_files(assignment(tmp_path, files={path: b"x"}), skills_root=".agents/skills")


@pytest.mark.parametrize(
    "path", ["sub/SKILL.md", "skill.md", ".agents/skills/answer-writer-2/SKILL.md", "SKILL.md.txt"]
)
def test_names_near_the_skills_are_free(tmp_path: Path, path: str) -> None:
    files = workspace_files(assignment(tmp_path, files={path: b"x"}), skills_root=".agents/skills")
    assert files[path] == b"x"


def test_only_the_skill_file_gets_lf_line_ends() -> None:
    skill = replace(SKILL, files={"SKILL.md": b"a\r\nb\rc\n", "raw.bin": b"\r\n\x00\r"})
    assert skill_folder(skill, "s/x") == {"s/x/SKILL.md": b"a\nb\nc\n", "s/x/raw.bin": b"\r\n\x00\r"}


def test_explicit_prompts_invoke_the_skill(tmp_path: Path) -> None:
    given = assignment(tmp_path, prompt="Do\nit")
    assert asked(given, sigil="$") == "$answer-writer\nDo\nit"
    assert asked(given, sigil="/") == "/answer-writer\nDo\nit"


@pytest.mark.parametrize(
    ("prompt", "sent"),
    [
        ("Do it", "Do it"),
        ("-x", "-x"),
        ("/data/in.csv: count", "Task:\n/data/in.csv: count"),
        ("  /compact", "Task:\n  /compact"),
        ("$other", "$other"),
        ("", ""),
    ],
)
def test_a_prompt_is_never_taken_for_a_command(tmp_path: Path, prompt: str, sent: str) -> None:
    assert asked(assignment(tmp_path, prompt=prompt, activation="discovered"), sigil="/") == sent
    assert asked(assignment(tmp_path, prompt=prompt, skill=None), sigil="/") == sent


def test_foreign_skills_are_those_under_a_root() -> None:
    files = dict.fromkeys(
        [".agents/skills/b/SKILL.md", "./.codex/skills/x/y/SKILL.md", ".agents/skills/b/notes.md", "docs/SKILL.md"], b""
    )
    assert foreign_skills(files, (".agents/skills/", ".codex/skills/")) == (
        ".codex/skills/x/y/SKILL.md",
        ".agents/skills/b/SKILL.md",
    )


def test_plain_path_keeps_what_is_refused_elsewhere() -> None:
    assert plain_path("./a//b/./c") == "a/b/c"
    assert plain_path("../x") == "../x"


def test_what_changed_is_seen_however_it_came_about() -> None:
    laid = {"./a.txt": b"1", "b.txt": b"2", "c.txt": b"3", "SKILL.md": b"s"}
    left = Collected({"SKILL.md": b"s", "a.txt": b"1", "b.txt": b"two", "out/new.txt": b""})
    told = [(change.kind, change.path) for change in changes(laid, left)]
    assert told == [("update", "b.txt"), ("delete", "c.txt"), ("add", "out/new.txt")]


def test_a_file_that_may_only_have_been_too_large_is_not_called_deleted() -> None:
    assert changes({"c.txt": b"3"}, Collected({}, ("c.txt: larger than the limit",))) == ()
