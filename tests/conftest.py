"""What holds for every test."""

from __future__ import annotations

import gc
import logging
import os
import time
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

from daemon import logs

# The same examples on every run, and none that fails because the machine is busy.
settings.register_profile("honed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("honed")


FIRST = ("tests/acceptance", "tests/worlds", "tests/integration")
"""The folders with the longest files: begun first, so that at the end no worker is left alone with one."""

# Whoever runs the tests may do so from a hook of git's, which names their repository, and in any part of the world.
for name in ("DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "COMMON_DIR", "PREFIX", "NAMESPACE"):
    os.environ.pop(f"GIT_{name}", None)
for name in ("NAME", "EMAIL", "DATE"):
    os.environ.pop(f"GIT_AUTHOR_{name}", None)
    os.environ.pop(f"GIT_COMMITTER_{name}", None)
os.environ["TZ"] = "UTC"
time.tzset()

# Garbage is looked for less often than in a program that lives for long: it was a quarter of the collecting of tests.
gc.set_threshold(20_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests wait for `make test-long`. Files stay whole and in order; only the folders change places."""
    if not os.environ.get("HONED_LONG"):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes long: `make test-long`"))
    places = {item: [item.nodeid.startswith(one) for one in FIRST] for item in items}
    items.sort(key=places.__getitem__, reverse=True)


def pytest_collection_finish() -> None:
    """Ten thousand tests stay to the end: nobody needs to look through them again and again."""
    gc.collect()
    gc.freeze()


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
