"""`[inbox]` of honed.toml: real sessions of people as evidence. By default nobody's sessions are read."""

from __future__ import annotations

from pydantic import Field, field_validator

from daemon.config_train import Section


class InboxSection(Section):
    """`[inbox]`: where sessions come from, how long they are kept, and what they are used for."""

    sessions: tuple[str, ...] = ()
    """Folders whose sessions are read (`~` is the home folder; relative ones count from honed.toml)."""
    keep: int = Field(default=500, ge=1, le=100_000)
    """Sessions that are kept, the newest."""
    keep_days: float = Field(default=30.0, gt=0, le=3_650)
    evidence: bool = True
    """Reflections read what went wrong in them; never with `mode = "paper"`."""
    harvest_sessions: int = Field(default=3, ge=2)
    """Sessions that must show a pattern before it becomes a draft of a task."""

    @field_validator("sessions")
    @classmethod
    def _sessions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if any(not one.strip() or "\0" in one for one in value):
            msg = 'must name folders, such as "~/.claude/projects" or "~/.codex/sessions"'
            raise ValueError(msg)
        return value
