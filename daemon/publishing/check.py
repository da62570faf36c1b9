"""The row of `honed doctor` about publishing."""

from __future__ import annotations

import asyncio

from daemon.config import Config, ConfigError
from daemon.publishing.opening import open_publisher
from daemon.setup.check import Check
from skills_repo.history import RepositoryError
from skills_repo.publish.errors import PublishError

NAME = "publish"


async def publish_check(config: Config, *, online: bool = False) -> Check:
    """Remote and token are there, and where the token comes from; `online` also asks remote and forge.

    Fails where `honed train` would refuse to begin; what only keeps its end from publishing is a warning.
    """
    mode = config.publish.mode
    if mode == "branch":
        return Check(NAME, "ok", 'mode = "branch": nothing leaves this machine')
    detail = f'mode = "{mode}", remote {config.publish.remote}'
    try:
        async with open_publisher(config) as publisher:
            await asyncio.to_thread(publisher.remote.address)
            detail += f", token from {publisher.token_from}" if publisher.token_from else ""
            if online:
                try:
                    await publisher.state()
                except (PublishError, RepositoryError) as error:
                    return Check(NAME, "warn", str(error), "mend it before a run's end, or publish later")
                detail += "; all that is asked answers"
    except (ConfigError, PublishError, RepositoryError) as error:
        return Check(NAME, "fail", str(error), "mend [publish] in honed.toml")
    return Check(NAME, "ok", detail)
