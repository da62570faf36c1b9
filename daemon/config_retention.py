"""`[retention]` of honed.toml: how long what attempts leave is kept. It decides nothing about a run."""

from __future__ import annotations

from pydantic import Field

from daemon.config_train import Section


class RetentionSection(Section):
    """What attempts leave on the disk, for people to look at: no run ever reads it again."""

    attempts_days: float = Field(default=30.0, gt=0, le=36_500)
    """Attempts' folders that are older are removed, but for the newest twenty."""
    attempts_mb: int = Field(default=2048, ge=1)
    """MiB of all of them together: beyond it they are compressed at once, then the oldest are removed."""
    compress_hours: float = Field(default=24.0, ge=0)
    """Older ones are compressed, each to `<id>.tar.gz`."""
