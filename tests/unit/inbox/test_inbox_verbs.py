"""`honed inbox` end to end: files in, patterns out, for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from daemon import redaction
from daemon.cli.app import build
from daemon.config import load_config
from daemon.inbox.opening import read_use, watched
from daemon.inbox.sqlite import FILE
from daemon.inbox.use import Use
from tests.support.sessions import BODY, SKILL, Session, troubled

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
    monkeypatch.setattr(redaction, "_secrets", set())
    (tmp_path / "honed.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*words: str | Path, code: int = 0) -> str:
    done = CliRunner().invoke(build(("inbox",)), ["inbox", *map(str, words)])
    assert done.exit_code == code, done.output
    return done.output


def data(*words: str | Path, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(*words, "--json", code=code).splitlines()[-1])
    return found


def test_from_files_to_patterns(project: Path) -> None:
    for number in range(3):
        troubled(number).write(project / "s" / f"{number}.jsonl")
    Session("22222222-x").listed().said("hi").answered().write(project / "s" / "z.jsonl")
    assert data("add", project / "s")["counts"] == {"new": 4}
    assert data("add", project / "s")["counts"] == {"known": 4}
    listed = data("list")
    assert (listed["total"], listed["use"]["opened"], listed["use"]["unopened"]) == (4, 3, 1)
    assert listed["use"]["failure_rate"] == 1.0
    assert sorted(row["opened"] for row in listed["sessions"]) == [False, True, True, True]
    found = data("patterns", "--least", "2")["patterns"]
    assert [(one["kind"], one["label"], one["sessions"]) for one in found] == [
        ("correction", "contradicted", 3),
        ("error", "python3: KeyError", 3),
    ]
    key = found[0]["examples"][0]["session"]
    assert data("show", key)["incidents"][0]["skills"] == [SKILL]
    assert "correction: contradicted" in said("show", key[:6])
    assert listed["use"]["current"] == 0
    skill = project / "skills" / SKILL / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: {SKILL}\ndescription: d\n---\n\n{BODY}")
    assert data("list")["use"]["current"] == 3
    assert f"{SKILL}: in 4 sessions, opened in 3, not opened though listed in 1" in said("patterns")
    assert "KeyError" in said("patterns", "--all")
    assert data("patterns", "--skill", "other")["patterns"] == []
    assert data("list", "--all", "-n", "1")["total"] == 4


def test_nothing_is_read_until_it_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(project / "home"))
    troubled().write(project / "home" / ".claude" / "projects" / "p" / "a.jsonl")
    assert data("add")["counts"] == {}
    assert not (project / ".honed").exists()
    assert data("list", "--all")["sessions"] == []
    (project / "honed.toml").write_text(TOML + '[inbox]\nsessions = ["~/.claude/projects", "more"]\n')
    assert [folder.name for folder in watched(load_config(project / "honed.toml"))] == ["inbox", "projects", "more"]
    assert data("add")["counts"] == {"new": 1}
    assert data("add")["counts"] == {"unchanged": 1}
    troubled(2).write(project / ".honed" / "inbox" / "dropped.jsonl")
    assert data("add")["counts"] == {"new": 1, "unchanged": 1}
    assert (project / ".honed" / ".gitignore").read_text() == "*\n"


def test_reading_verbs_make_nothing(project: Path) -> None:
    assert f"no sessions with {SKILL} are kept (`--all` lists those without)" in said("list")
    assert "no sessions are kept: `honed inbox add FILE`" in said("list", "--all")
    assert "no pattern" in said("patterns")
    assert "no session begins with 'abcd'" in said("show", "abcd", code=2)
    assert not (project / ".honed").exists()


def test_a_named_file_that_is_no_session_is_said(project: Path) -> None:
    (project / "a.jsonl").write_text("{}\n" * 99)
    assert "refused a.jsonl: is no session of Claude Code or Codex" in said("add", project / "a.jsonl", code=1)


def test_the_environment_s_secrets_are_known(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_DEPLOY_TOKEN", "just-three-words")
    session = troubled().said("No, use just-three-words instead").answered()
    said("add", session.write(project / "a.jsonl"))
    assert b"just-three-words" not in (project / ".honed" / FILE).read_bytes()
    wal = project / ".honed" / f"{FILE}-wal"
    assert not wal.exists() or b"just-three-words" not in wal.read_bytes()


def test_hostile_text_is_safe_for_a_terminal(project: Path) -> None:
    session = Session().listed(SKILL, "\x1b[2J[red]x").said("\x1b]0;evil\x07[bold]go").opened().answered("x")
    session.said("No \x1b[2J[red]y[/red]").answered("z").write(project / "a.jsonl")
    said("add", project / "a.jsonl")
    for words in (("list", "--all"), ("patterns",), ("show", data("list")["sessions"][0]["key"])):
        assert "\x1b]0" not in said(*words)
        assert "\x1b[2J" not in said(*words)


async def test_a_scheduler_reads_the_use_of_a_skill(project: Path) -> None:
    assert await read_use(load_config(project / "honed.toml")) == Use(SKILL)


def test_an_inbox_of_another_program_is_left_alone(project: Path) -> None:
    (project / ".honed").mkdir()
    (project / ".honed" / FILE).write_bytes(b"not sqlite at all" * 100)
    assert "inbox" in said("list", code=1)
    assert (project / ".honed" / FILE).stat().st_size == 1_700
