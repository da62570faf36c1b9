"""Ask the remote and its forge now and then: what was merged there, and which requests people closed.

Invariants: nobody is ever prompted; what goes wrong is data, logged once per kind and text, and asked again after
growing pauses; each kind fails by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import structlog

from daemon.config import Config, ConfigError
from daemon.publishing.opening import open_publisher
from daemon.publishing.token import model_keys
from daemon.service.project import Project
from skills_repo.history import RepositoryError
from skills_repo.publish.errors import PublishError
from skills_repo.publish.fetching import fetch_base
from skills_repo.publish.publisher import Publisher
from skills_repo.publish.remote import Remote
from skills_repo.skill import SkillError

LONGEST_S = 3_600.0
"""Between two tries of what fails."""
FIRST_S = 30.0
"""After the first failure; doubled with each further one."""

log = structlog.get_logger(__name__)


@dataclass
class _Trouble:
    """What does not work, of one project and kind."""

    what: str
    count: int
    again: float


class Fetcher:
    """Remembers what fails, for any number of projects."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        opening: Callable[[Config], AbstractAsyncContextManager[Publisher]] = open_publisher,
    ) -> None:
        self._clock = clock
        self._opening = opening
        self._troubles: dict[tuple[str, str], _Trouble] = {}

    async def fetch(self, project: Project) -> str:
        """Look once, unless it failed a short time ago; what goes wrong in one sentence, empty if all is well.

        What came of it stands in the repository, where the next look sees it. Only one call a project at a time.
        """
        config = project.config
        await self._try(project.name, "remote", lambda: self._base(config))
        if config.publish.mode == "pull-request":
            await self._try(project.name, "requests", lambda: self._requests(config))
        told = [self._troubles.get((project.name, kind)) for kind in ("remote", "requests")]
        return "; ".join(dict.fromkeys(one.what for one in told if one))

    async def _base(self, config: Config) -> None:
        section = config.publish
        remote = Remote(config.skill.repository, section.remote, section.timeout_s, model_keys(config))
        await asyncio.to_thread(fetch_base, remote, section.base)

    async def _requests(self, config: Config) -> None:
        """Closed ones are kept beside the branch, as publishing does."""
        async with self._opening(config) as publisher:
            await publisher.learn()

    async def _try(self, project: str, kind: str, work: Callable[[], Awaitable[None]]) -> None:
        known = self._troubles.get((project, kind))
        if known is not None and self._clock() < known.again:
            return
        try:
            await work()
        except (PublishError, ConfigError, RepositoryError, SkillError, OSError) as error:
            self._failed(project, kind, str(error), known)
        else:
            if self._troubles.pop((project, kind), None) is not None:
                log.info("the remote answers again", project=project, kind=kind)

    def _failed(self, project: str, kind: str, what: str, known: _Trouble | None) -> None:
        count = known.count + 1 if known else 1
        pause = min(FIRST_S * 2.0 ** min(count - 1, 20), LONGEST_S)
        self._troubles[project, kind] = _Trouble(what, count, self._clock() + pause)
        if known is None or known.what != what:
            log.warning("the remote could not be asked", project=project, kind=kind, error=what)
