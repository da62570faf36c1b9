"""One demo on disk for all tests of this folder: writing it is the slow part."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemon.demo.demo_set import DemoSet
from daemon.demo.tasks import write_demo
from tests.support.demo import DemoWorkshop


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoSet:
    folder: Path = tmp_path_factory.mktemp("demo")
    return write_demo(folder)


@pytest.fixture(scope="session")
def workshop(demo: DemoSet) -> DemoWorkshop:
    return DemoWorkshop(demo)
