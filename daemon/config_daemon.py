"""`[daemon]` of honed.toml: how the sidecar works unattended. No other verb needs it."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator, model_validator

from daemon.config_listen import read_listen
from daemon.config_train import CapSection, Section
from daemon.jobs.hours import check_cron, read_quiet


class DaemonSection(Section):
    """What `honed daemon` keeps, when it looks and when it works."""

    also: tuple[Path, ...] = ()
    """Further honed.toml files, one a skill, relative to this one; `*` and `**` are globs."""
    runs: int = Field(default=1, ge=1)
    """Training runs at the same time, each of another skill."""
    day: CapSection = CapSection()
    """Caps of all skills together on one day (UTC)."""
    debounce_s: float = Field(default=0.2, ge=0, le=60)
    """Quiet time after a change before it is looked at."""
    poll_s: float = Field(default=60.0, ge=0.1)
    """Looks without an event, for file systems that send none."""
    fetch_s: float = Field(default=0.0, ge=0)
    """`git fetch` of the remote and a look at its requests so often; 0: never."""
    grace_s: float = Field(default=60.0, ge=0)
    """How long running attempts may go on when the daemon is told to stop."""
    quiet: tuple[str, ...] = ()
    """Hours in which no run begins, local time: `mon-fri 09:00-18:00`."""
    schedule: tuple[str, ...] = ()
    """Cron lines, local time: a run begins then, whatever changed."""
    cooldown_h: float = Field(default=24.0, ge=0)
    """No run without a person's act so long after one that accepted nothing; doubled each time, up to a week."""
    again: bool = True
    """Run again after a run that accepted something: there may be more to gain."""
    listen: str = ""
    """Loopback `host:port` of /healthz, /readyz and /metrics; empty: none."""
    listen_public: bool = False
    """`listen` may be any address: whoever reaches it reads names of skills, scores and costs."""

    @model_validator(mode="after")
    def _listen(self) -> DaemonSection:
        if self.listen:
            read_listen(self.listen, public=self.listen_public)
        return self

    @field_validator("day")
    @classmethod
    def _day(cls, value: CapSection) -> CapSection:
        if value.minutes is not None:
            msg = "cannot cap minutes: skills are trained at the same time (use attempts, tokens or usd)"
            raise ValueError(msg)
        return value

    @field_validator("quiet")
    @classmethod
    def _quiet(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            read_quiet(text)
        return value

    @field_validator("schedule")
    @classmethod
    def _schedule(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for line in value:
            check_cron(line)
        return value
