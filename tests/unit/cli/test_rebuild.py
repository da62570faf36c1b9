"""`honed rebuild`: whole or not at all, and never over a journal."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from daemon.cli import rebuild as rebuilding
from daemon.cli.output import Output
from daemon.cli.rebuild import _rebuild
from daemon.config import load_config
from daemon.journal.journal import JournalError
from daemon.journal.lock import StateBusyError, state_lock
from daemon.journal.sqlite import SqliteJournal
from daemon.places import open_history
from tests.support.history import change, skill_project, step_message, with_lines
from tests.support.honed_cli import git, honed, journal_rows


@pytest.fixture
async def toml(tmp_path: Path) -> Path:
    toml = skill_project(tmp_path / "p")
    history = open_history(load_config(toml))
    edits = [
        change(with_lines("- one", "- two"), step_message("r-1", 1, before=0.25, after=0.5)),
        change(with_lines("- one", "- 2"), step_message("r-2", 4, before=0.5, after=0.75)),
    ]
    await history.commit_edits(await history.base(), edits, 1_000)
    return toml


def state(toml: Path) -> list[str]:
    return sorted(path.name for path in (toml.parent / ".honed").iterdir() if path.name != "honed.lock")


def test_a_lost_journal_comes_back_and_is_shown(toml: Path) -> None:
    ran = honed("rebuild", "--json", cwd=toml.parent)
    assert ran.code == 0, ran.stderr
    assert [(row["run"], row["steps"], row["before"], row["after"]) for row in ran.result["runs"]] == [
        ("r-1", [1], 0.25, 0.5),
        ("r-2", [4], 0.5, 0.75),
    ]
    assert state(toml) == [".gitignore", "journal.sqlite"]
    assert git(toml.parent, "status", "--porcelain") == ""
    assert journal_rows(toml.parent, "SELECT run_id, state, skill FROM runs ORDER BY seq") == [
        ("r-1", "done", "skills/xlsx"),
        ("r-2", "done", "skills/xlsx"),
    ]
    shown = honed("show", "latest", "4", "--json", cwd=toml.parent)
    assert shown.code == 0, shown.stderr
    assert (shown.result["run"], shown.result["decision"]["verdict"]["after"]) == ("r-2", 0.75)
    again = honed("rebuild", "--json", cwd=toml.parent)
    assert (again.code, again.result["error"]["kind"]) == (1, "journal")
    assert "nothing is written over it (move it away first: `mkdir " in again.error


async def test_people_are_told_what_is_lost(toml: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await _rebuild(Output(), toml)
    out = capsys.readouterr().out
    assert "run r-1: 1 step, 0.250 -> 0.500\n" in out
    assert "2 runs rebuilt in " in out
    assert "lost, for git does not hold them: epochs, batches" in out


@pytest.mark.parametrize("name", ["journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"])
async def test_no_part_of_a_journal_is_written_over(toml: Path, name: str) -> None:
    there = toml.parent / ".honed" / name
    there.parent.mkdir()
    there.write_bytes(b"precious")
    with pytest.raises(JournalError, match=rf" at {there}: nothing is written over it"):
        await _rebuild(Output(), toml)
    assert there.read_bytes() == b"precious"
    assert state(toml) == [name]


async def test_the_command_that_is_named_keeps_a_journal_and_its_log_together(toml: Path) -> None:
    parts = ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm")
    folder = toml.parent / ".honed"
    folder.mkdir()
    for name in parts:
        (folder / name).write_text(name)
    with pytest.raises(JournalError) as raised:
        await _rebuild(Output(), toml)
    named = str(raised.value).split("`")[1]
    subprocess.run(["sh", "-c", named], check=True)
    assert state(toml) == ["journal.old"]
    assert {path.name: path.read_text() for path in (folder / "journal.old").iterdir()} == {
        name: name for name in parts
    }
    await _rebuild(Output(), toml)
    assert state(toml) == [".gitignore", "journal.old", "journal.sqlite"]
    with pytest.raises(JournalError):
        await _rebuild(Output(), toml)
    assert subprocess.run(["sh", "-c", named], check=False).returncode != 0, "an older one is not written over"


async def test_a_rebuild_that_was_killed_leaves_no_journal_and_the_next_one_is_whole(
    toml: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying(SqliteJournal):
        async def end_run(self, run_id: str, state: str) -> None:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rebuilding, "SqliteJournal", Dying)
        with pytest.raises(KeyboardInterrupt):
            await _rebuild(Output(), toml)
    assert "journal.sqlite" not in state(toml)
    (toml.parent / ".honed" / "journal.rebuilding-wal").write_bytes(b"left over")
    await _rebuild(Output(as_json=True), toml)
    assert state(toml) == [".gitignore", "journal.sqlite"]
    assert journal_rows(toml.parent, "PRAGMA integrity_check") == [("ok",)]


async def test_a_state_folder_in_use_is_left_alone(toml: Path) -> None:
    with state_lock(toml.parent / ".honed"), pytest.raises(StateBusyError):
        await _rebuild(Output(), toml)


async def test_without_commits_of_honed_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toml = skill_project(tmp_path / "p")
    await _rebuild(Output(), toml)
    assert "nothing to rebuild, nothing was written" in capsys.readouterr().out
    assert not (toml.parent / ".honed").exists()
