"""What the operator chose about publishing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["branch", "push", "pull-request", "direct"]
ForgeKind = Literal["github", "gitlab"]
REVIEW_LABEL = "needs-review"
"""Put on a request whose edits add addresses, fetched code or rights."""


@dataclass(frozen=True)
class PublishSettings:
    """`[publish]`, without the token."""

    mode: Mode = "branch"
    remote: str = "origin"
    base: str | None = None
    """Branch that edits are meant for; None: the remote's default branch."""
    open_limit: int = 5
    """Open requests of honed in the project at once, over all skills."""
    daily_limit: int = 5
    """Requests of honed opened on one day (UTC), over all skills."""
    labels: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    """Whose addresses ask for no review."""
