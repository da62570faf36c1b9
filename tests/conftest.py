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


@pytest.fixture(autouse=True)
def _nobodys_git_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may sign their commits: honed would read that, and do it too."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
