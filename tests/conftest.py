"""What holds for every test."""

from __future__ import annotations

from hypothesis import settings

# The same examples on every run, and none that fails because the machine is busy.
settings.register_profile("honed", derandomize=True, deadline=None)
settings.load_profile("honed")
