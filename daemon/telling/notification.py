"""What a hook is told: which events, and the body that a program or a server gets.

Invariant: the body is metadata, with a reason of one redacted line; it never holds text of tasks, agents or models.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from daemon.config_hooks import HookEvent
from daemon.jobs.job import ENDED
from daemon.redaction import redact_value
from daemon.rollouts.progress import kinds_of
from daemon.service.desk import ProjectStatus
from daemon.telling.events import DaemonEvent
from daemon.telling.observing import one_line

VERSION = 1
"""Of the body's form: a new one where a field changes its meaning or goes."""
OWN = "hook "
"""How the names of hooks' own troubles begin: no hook is told of them."""


def told_as(event: DaemonEvent) -> HookEvent | None:
    """Under which name hooks are told of an event; None: they are not."""
    data = event.data
    match event.kind:
        case "step" if data.get("outcome") == "accepted" and not data.get("replayed"):
            return "accepted"
        case "rejected-by-person" | "paused":
            return event.kind
        case "broken" if not data.get("over") and not str(data.get("trouble", "")).startswith(OWN):
            return "broken"
        case "job" if data.get("state") in ENDED:
            return "ended"
    return None


@dataclass(frozen=True)
class Notification:
    """One of them, on its way."""

    name: HookEvent
    event: DaemonEvent
    url: str | None = None
    """Of the project's newest pull or merge request, as far as known."""
    delivery: str = field(default_factory=lambda: uuid.uuid4().hex)
    """The same in every try, so that a receiver may drop what it has already."""

    def body(self, project: ProjectStatus | None, sent: float) -> bytes:
        """The JSON body; `sent` is the Unix time of this try."""
        event, data = self.event, self.event.data
        facts: dict[str, Any] = {
            "version": VERSION,
            "event": self.name,
            "delivery": self.delivery,
            "time": event.time,
            "sent": sent,
            "project": event.project,
            "skill": project.skill if project else None,
            "branch": data.get("branch") or (project.branch if project else None),
            "job": event.job,
            "run": data.get("run") or None,
            "state": data.get("state"),
            "commits": list(data.get("commits") or ()),
            "flagged": kinds_of(data.get("flagged") or ()),
            "url": self.url,
            "before": data.get("before"),
            "after": data.get("after", data.get("score")),
            "reason": one_line(str(data.get("reason") or event.what)),
        }
        text = json.dumps(redact_value(facts), ensure_ascii=False, default=str)
        return text.encode("utf-8", "replace")
