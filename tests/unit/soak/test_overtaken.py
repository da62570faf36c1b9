"""A step that was accepted and is not in git counts as overtaken only where it can be seen by what."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.journal.records import Decision, RunRecord
from daemon.journal.sqlite import SqliteJournal
from tests.soak.overtaken import not_overtaken
from tests.support.honed_cli import git

KEY = ("r1", 1, "step")


def commit(folder: Path, message: str) -> str:
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(folder, "rev-parse", "HEAD")


async def write(folder: Path, state: str, later: tuple[str, str] | None, *, went_on: bool) -> None:
    journal = SqliteJournal(folder / ".honed" / "journal.sqlite")
    await journal.open_run(RunRecord("r1", "f", "s", git(folder, "rev-parse", "start"), "open", 0.0))
    for step in (1, 2) if went_on else (1,):
        await journal.save_decision(Decision("r1", step, "step", {"outcome": "accepted"}))
    if state != "open":
        await journal.end_run("r1", state)
    if later is not None:
        await journal.open_run(RunRecord("r2", later[0], "s", later[1], "open", 0.0))
    await journal.close()


@pytest.mark.parametrize(
    ("state", "later", "went_on", "fault"),
    [
        ("failed", ("f", "person"), False, ""),
        ("failed", ("f", "honed"), False, "nobody committed anything"),
        ("failed", ("f", "start"), False, "nobody committed anything"),
        ("failed", None, False, "no run took its place"),
        ("failed", ("f", "person"), True, "went on to further steps"),
        ("done", ("f", "person"), False, "came to its end"),
        ("open", ("g", "start"), False, ""),
        ("open", ("f", "person"), False, "nobody changed the configuration"),
    ],
)
def test_what_counts(tmp_path: Path, state: str, later: tuple[str, str] | None, went_on: bool, fault: str) -> None:
    git(tmp_path, "init", "--quiet")
    for name, message in (("start", "Start"), ("honed", "add a line\n\nHoned-Run: r0"), ("person", "Be brief")):
        commit(tmp_path, message)
        git(tmp_path, "tag", name)
    given = None if later is None else (later[0], git(tmp_path, "rev-parse", later[1]))
    asyncio.run(write(tmp_path, state, given, went_on=went_on))
    found = not_overtaken(tmp_path, {KEY})
    assert (fault in found[0]) if fault else found == []


def test_a_history_that_was_written_anew_is_a_person_s_act(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "Start")
    git(tmp_path, "tag", "start")
    git(tmp_path, "checkout", "--quiet", "--orphan", "other")
    other = commit(tmp_path, "Start anew\n\nHoned-Run: r0")
    asyncio.run(write(tmp_path, "failed", ("f", other), went_on=False))
    assert not_overtaken(tmp_path, {KEY}) == []
    assert not_overtaken(tmp_path, set()) == []
