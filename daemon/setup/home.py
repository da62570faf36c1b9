"""Where honed keeps what it brought to this machine: agents/, rootfs/, locks/, log/."""

from __future__ import annotations

import os
from pathlib import Path


def honed_home() -> Path:
    """`$HONED_HOME`, or `honed` under `$XDG_DATA_HOME` (`~/.local/share`); absolute, not made here."""
    if chosen := os.environ.get("HONED_HOME"):
        return Path(chosen).expanduser().absolute()
    data = os.environ.get("XDG_DATA_HOME")
    base = Path(data) if data and Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "honed"
