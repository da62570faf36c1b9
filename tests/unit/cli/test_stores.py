"""What verbs say of a project that another project's daemon kept by `[daemon] also`, once that daemon is gone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from daemon.control.address import SOCKET_NAME
from daemon.control.announcing import announce, withdraw
from daemon.jobs.job import Cause
from daemon.jobs.sqlite import FILE, SqliteStore
from daemon.jobs.store import Pause
from daemon.service.project import Project
from tests.support.control import project_at, verb


async def a_store(state: Path, *projects: str) -> None:
    """A daemon's store with a job of each project."""
    state.mkdir(exist_ok=True)
    store = SqliteStore(state / FILE)
    for project in projects:
        await store.add(project, Cause("new", project), 5.0)
    await store.pause(Pause(projects[-1], 8.0, "a release"))
    await store.close()


@pytest.fixture
def other(tmp_path: Path) -> Project:
    """Kept by the daemon of `main`, which has ended."""
    kept = project_at(tmp_path / "other", "greeting")
    asyncio.run(a_store(tmp_path / "main", "pdf", "greeting"))
    announce(kept, tmp_path / "main" / SOCKET_NAME)
    withdraw(kept)
    return kept


def jobs(project: Project, capsys: Any) -> list[str]:
    found: list[dict[str, Any]] = verb("jobs --json", project.config.file, capsys).result["jobs"]
    return [job["project"] for job in found]


def test_its_jobs_and_pauses_are_read_from_that_daemon_s_store(other: Project, capsys: Any) -> None:
    assert jobs(other, capsys) == ["pdf", "greeting"]
    assert "paused: greeting a release" in verb("status", other.config.file, capsys).out


def test_its_own_are_read_where_that_store_is_gone(other: Project, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "main" / FILE).unlink()
    assert jobs(other, capsys) == []
    asyncio.run(a_store(other.state, "greeting"))
    assert jobs(other, capsys) == ["greeting"]


def test_a_signpost_to_anything_but_a_control_socket_leads_nowhere(other: Project, tmp_path: Path, capsys: Any) -> None:
    announce(other, tmp_path / "main" / "docker.sock")
    assert jobs(other, capsys) == []
