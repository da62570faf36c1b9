"""Finds all targets: every module of `tests/fuzz/targets`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.fuzz.target import Target, found


def every_target() -> tuple[Target, ...]:
    """By name."""
    for path in sorted((Path(__file__).parent / "targets").glob("*.py")):
        if path.stem != "__init__":
            import_module(f"tests.fuzz.targets.{path.stem}")
    return found()
