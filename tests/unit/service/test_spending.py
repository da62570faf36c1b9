"""What was spent today, for a status that is asked again and again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from daemon.budget.totals import Totals
from daemon.config import Config, load_config
from daemon.journal.journal import JournalError
from daemon.journal.records import AttemptKey
from daemon.journal.sqlite import SqliteJournal
from daemon.service import spending
from daemon.service.project import Project
from daemon.service.spending import SpentToday, spent_today
from tests.support.closed import close
from tests.unit.service.test_day import NOON, Clock, attempts_elsewhere
from tests.unit.service.test_projects import lay


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """When a journal was really read."""
    times: list[float] = []

    async def reading(config: Config, now: float) -> Totals:
        times.append(now)
        return await spent_today(config, now)

    monkeypatch.setattr(spending, "spent_today", reading)
    return times


def aged(state: Path, seconds: float = 100.0) -> None:
    """As if nobody had written to the journal lately."""
    for file in state.glob("journal.sqlite*"):
        os.utime(file, (time.time() - seconds, time.time() - seconds))


async def test_a_journal_is_read_again_only_once_somebody_has_written_to_it(tmp_path: Path, read: list[float]) -> None:
    project, spent = Project("pdf", load_config(lay(tmp_path))), SpentToday()
    await attempts_elsewhere(project, Clock(), "r", 2)
    aged(project.state)
    for _ in range(3):
        assert (await spent.of(project.config, NOON)).attempts == 2
    assert len(read) == 1
    writer = SqliteJournal(project.state / "journal.sqlite", clock=Clock())
    await writer.plan_attempt("a-3", "r", "t", AttemptKey("s", "t", "chat", {}))  # into the log beside it
    aged(project.state, 50.0)
    for _ in range(3):
        assert (await spent.of(project.config, NOON)).attempts == 3
    assert len(read) == 2
    await writer.close()  # folds the log in
    assert (await spent.of(project.config, NOON)).attempts == 3
    assert len(read) == 3


async def test_another_day_another_configuration_and_a_fresh_file_are_read_anew(
    tmp_path: Path, read: list[float]
) -> None:
    project, spent = Project("pdf", load_config(lay(tmp_path))), SpentToday()
    assert (await spent.of(project.config, NOON)).attempts == 0, "no journal yet"
    await attempts_elsewhere(project, Clock(), "r", 2)
    aged(project.state)
    assert (await spent.of(project.config, NOON)).attempts == 2
    assert (await spent.of(project.config, NOON + 86_400)).attempts == 0
    assert (await spent.of(load_config(project.file), NOON + 86_400)).attempts == 0, "prices may be others now"
    assert len(read) == 4
    aged(project.state, -100.0)  # written this moment, by a clock that is ahead
    for _ in range(2):
        await spent.of(project.config, NOON)
    assert len(read) == 6


async def test_a_journal_that_cannot_be_read_has_an_unknown_sum(tmp_path: Path) -> None:
    project = Project("pdf", load_config(lay(tmp_path)))
    project.state.mkdir()
    (project.state / "journal.sqlite").write_bytes(b"no journal" * 100)
    assert await SpentToday().of(project.config, NOON) == Totals(usd=None)
    with pytest.raises(JournalError):
        await spent_today(project.config, NOON)


async def test_a_state_folder_that_nobody_may_look_into_is_like_a_journal_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project("pdf", load_config(lay(tmp_path)))
    project.state.mkdir()
    close(project.state, monkeypatch)
    assert await SpentToday().of(project.config, NOON) == Totals(usd=None)
    with pytest.raises(JournalError, match="Permission denied"):
        await spent_today(project.config, NOON)
