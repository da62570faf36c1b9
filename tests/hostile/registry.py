"""Finds all attacks: every module of `tests/hostile/attacks`, in the order of names."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.hostile.attack import Attack, found


def every_attack() -> tuple[Attack, ...]:
    """The table's rows before they are tried."""
    for path in sorted((Path(__file__).parent / "attacks").glob("*.py")):
        if path.stem != "__init__":
            import_module(f"tests.hostile.attacks.{path.stem}")
    return found()
