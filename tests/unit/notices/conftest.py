"""A project to look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.notices import Watched, a_watched


@pytest.fixture
async def watched(tmp_path: Path) -> Watched:
    """A project that was looked at once."""
    made = a_watched(tmp_path / "project")
    assert await made.kinds() == ["new"]
    return made
