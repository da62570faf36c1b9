"""One target in a process of its own."""

from __future__ import annotations

import structlog

from tests.fuzz.registry import every_target
from tests.fuzz.runner import Told, fuzz


def work(name: str, *, seconds: float, seed: int) -> Told:
    """Fuzz the target of that name, without a word of what the product logs."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    return fuzz(next(one for one in every_target() if one.name == name), seconds=seconds, seed=seed)
