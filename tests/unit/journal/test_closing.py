"""A journal's file is let go of, whoever is cancelled while it is closed."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from pathlib import Path

import pytest

from daemon.journal.database import Database


def open_files(folder: Path) -> list[str]:
    links = []
    for one in Path("/proc/self/fd").iterdir():
        try:
            links.append(os.readlink(one))  # noqa: PTH115 - need not be a path
        except OSError:
            continue
    return [link for link in links if link.startswith(str(folder))]


async def test_cancelled_while_it_waits_for_work_it_closes_all_the_same(tmp_path: Path) -> None:
    database, goes_on, began = Database(tmp_path / "journal.sqlite"), threading.Event(), threading.Event()

    def work(_: sqlite3.Connection) -> None:
        began.set()
        goes_on.wait()

    busy = asyncio.create_task(database.read(work))
    await asyncio.to_thread(began.wait)
    closing = asyncio.create_task(database.close())
    await asyncio.sleep(0)
    threading.Timer(0.2, goes_on.set).start()  # the loop itself waits for the thread
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await busy
    assert open_files(tmp_path) == []
    await database.close()
