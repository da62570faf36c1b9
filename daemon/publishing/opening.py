"""From `[publish]` to a `Publisher`, and back to nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from daemon.config import Config
from daemon.places import open_history, open_rejected
from daemon.publishing.facts import gather
from daemon.publishing.token import model_keys, read_token
from daemon.redaction import redact
from skills_repo.publish.address import project_of
from skills_repo.publish.facts import Facts
from skills_repo.publish.forge import Forge
from skills_repo.publish.github import GitHub, github_access
from skills_repo.publish.gitlab import GitLab, gitlab_access
from skills_repo.publish.proposal import Proposal
from skills_repo.publish.publisher import Publisher
from skills_repo.publish.remote import Remote

_REQUEST_SHARE = 0.25
"""Of `timeout_s`, for one request to the forge."""


@asynccontextmanager
async def open_publisher(config: Config) -> AsyncIterator[Publisher]:
    """Everything that publishing this skill takes; connects to nobody yet. Raises `ConfigError`, `PublishError`."""
    section = config.publish
    history = open_history(config)
    remote = Remote(history.root, section.remote, section.timeout_s, model_keys(config))
    forge, token_from = await _forge(config, remote) if section.mode == "pull-request" else (None, "")

    async def facts(proposal: Proposal) -> Facts:
        return await gather(config, proposal)

    try:
        yield Publisher(
            history=history,
            settings=replace(section.settings(), allowed_hosts=config.skill.allowed_hosts),
            remote=remote,
            forge=forge,
            facts=facts,
            clean=redact,
            rejected=open_rejected(config),
            token_from=token_from,
        )
    finally:
        if forge is not None:
            await forge.close()


async def _forge(config: Config, remote: Remote) -> tuple[Forge, str]:
    """The forge, and where its token came from."""
    section = config.publish
    address = await asyncio.to_thread(remote.address)
    project = project_of(address, section.forge, section.api_url)
    source, token = await asyncio.to_thread(read_token, section, project, None, model_keys(config))
    timeout_s = section.timeout_s * _REQUEST_SHARE
    if project.kind == "github":
        return GitHub(github_access(project, source, token.get_secret_value(), timeout_s)), source.name
    return GitLab(gitlab_access(project, source, token.get_secret_value(), timeout_s)), source.name
