"""Quiet logs: these tests run whole trainings by the hundred."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.worlds.runs import MEMORY


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


@pytest.fixture
def shm() -> Iterator[Path]:
    """A folder in memory: attempts make thousands of folders."""
    with tempfile.TemporaryDirectory(prefix="honed-world-", dir=MEMORY) as folder:
        yield Path(folder)
