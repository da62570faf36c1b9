"""What holds for every test."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

from daemon import logs

# The same examples on every run, and none that fails because the machine is busy.
settings.register_profile("honed", derandomize=True, deadline=None)
settings.load_profile("honed")


@pytest.fixture(autouse=True)
def _logging_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A command that a test ran in this process may have set up logging: the next test starts anew."""
    monkeypatch.setitem(logs._state, "json", False)
    root = logging.getLogger()
    ours = [logging.getLogger(name) for name in ("daemon", "harnesses", "sandboxes", "skills_repo")]
    handlers, levels = root.handlers[:], [(one, one.level) for one in (root, *ours)]
    yield
    root.handlers[:] = handlers
    for one, level in levels:
        one.setLevel(level)
    structlog.reset_defaults()


@pytest.fixture(autouse=True)
def _nobodys_git_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may sign their commits: honed would read that, and do it too."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
