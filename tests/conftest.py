"""What holds for every test."""

from __future__ import annotations

import pytest
from hypothesis import settings

from daemon import logs

# The same examples on every run, and none that fails because the machine is busy.
settings.register_profile("honed", derandomize=True, deadline=None)
settings.load_profile("honed")


@pytest.fixture(autouse=True)
def _lines_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that a test ran in this process may have set up logging for machines: the next one starts anew."""
    monkeypatch.setitem(logs._state, "json", False)
