"""Publishing around a run: what would stop it is said before, what goes wrong afterwards is said and loses nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from daemon.config import ConfigError
from daemon.publishing.opening import open_publisher
from skills_repo.history import RepositoryError
from skills_repo.publish.errors import PublishError
from skills_repo.publish.outcome import Outcome, Published
from skills_repo.skill import SkillError

if TYPE_CHECKING:
    from daemon.config import Config
    from daemon.training.teller import Teller

_LOUD = frozenset({Outcome.STOPPED, Outcome.WAITING, Outcome.OFF})


async def publish_with(config: Config, *, dry_run: bool = False) -> Published:
    """Publish one skill once; raises `PublishError`, `ConfigError`, `RepositoryError`."""
    async with open_publisher(config) as publisher:
        done = await publisher.publish(dry_run=dry_run)
        return replace(done, token_from=publisher.token_from)


async def check_publishing(config: Config, teller: Teller) -> None:
    """Raise what would keep a run's edits from being published, before anything is paid for them.

    Also learns which requests people have closed since, for the run to begin with; a forge that cannot be asked is
    said, and the run goes on.
    """
    if config.publish.mode == "branch":
        return
    async with open_publisher(config) as publisher:
        await asyncio.to_thread(publisher.remote.address)
        try:
            closed = await publisher.learn()
        except (PublishError, RepositoryError, SkillError) as error:
            teller.warn(f"closed requests are not known: {error}; the run goes on without")
            return
        for one in closed:
            teller.say(f"a person closed {one.url}: its edits count as rejected ({one.reason or 'no reason given'})")


async def publish_after(config: Config, teller: Teller) -> dict[str, Any]:
    """Publish what a run committed; what goes wrong is said, for the run itself has done its work."""
    if config.publish.mode == "branch":
        return {"outcome": str(Outcome.OFF), "reason": "", "url": None}
    try:
        done = await publish_with(config)
    except (PublishError, ConfigError, RepositoryError, SkillError) as error:
        teller.warn(f"not published: {error}; nothing is lost, and `honed publish` tries again")
        return {"outcome": "failed", "reason": str(error), "url": None}
    say = teller.warn if done.outcome in _LOUD else teller.say
    say(f"published: {done.outcome}: {done.reason}")
    url = done.request.url if done.request else None
    return {"outcome": str(done.outcome), "reason": done.reason, "url": url}
