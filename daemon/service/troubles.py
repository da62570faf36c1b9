"""What does not work now: told once when it begins, once when it is over, and in the status in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

import structlog

from daemon.service.desk import Trouble
from daemon.telling.events import Bus

log = structlog.get_logger(__name__)


@dataclass
class Troubles:
    """By name and project."""

    bus: Bus
    clock: Callable[[], float] = time.time
    _now: dict[tuple[str, str], Trouble] = field(default_factory=dict)

    def begin(self, name: str, what: str, *, project: str = "", remedy: str = "") -> None:
        """Something does not work; saying it again only renews its words."""
        found = self._now.get((name, project))
        if found is not None:
            self._now[name, project] = replace(found, what=what, remedy=remedy)
            return
        self._now[name, project] = Trouble(name, project, self.clock(), what, remedy)
        log.warning("trouble", trouble=name, project=project, what=what)
        self.bus.publish("broken", what, project=project, trouble=name, over=False)

    def end(self, name: str, *, project: str = "") -> None:
        """It works again; without such a trouble nothing happens."""
        found = self._now.pop((name, project), None)
        if found is None:
            return
        log.info("trouble is over", trouble=name, project=project, seconds=round(self.clock() - found.since, 1))
        self.bus.publish("broken", f"{name} works again", project=project, trouble=name, over=True)

    def end_all(self, project: str, names: Iterable[str]) -> None:
        """Several of a project work again."""
        for name in sorted(names):
            self.end(name, project=project)

    def keep(self, projects: Collection[str]) -> None:
        """Those of a project that is not among these any more are nobody's."""
        for name, project in tuple(self._now):
            if project and project not in projects:
                del self._now[name, project]
                log.info("trouble is over", trouble=name, project=project, reason="the project is not kept any more")
                self.bus.publish("broken", f"{project} is not kept any more", project=project, trouble=name, over=True)

    def of(self, name: str) -> set[str]:
        """Projects that have this trouble."""
        return {project for found, project in self._now if found == name}

    def all(self) -> tuple[Trouble, ...]:
        """Every trouble, the oldest first."""
        return tuple(sorted(self._now.values(), key=lambda one: (one.since, one.name, one.project)))
