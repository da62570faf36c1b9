"""Whether commits can be signed as `[git] sign` and git's own configuration ask: tried out beside the repository."""

from __future__ import annotations

import asyncio

from daemon.config import Config
from daemon.places import author_of
from daemon.setup.check import Check
from skills_repo.history import RepositoryError
from skills_repo.objects import identity
from skills_repo.signing import CannotSignError, Signer

_REMEDY = 'mend git\'s signing configuration, or set sign = "never" in [git]'


async def signing_check(config: Config) -> Check:
    """One row of `honed doctor`; fails exactly where `sign = "always"` and nothing can be signed."""
    try:
        form = await _probe(config)
    except CannotSignError as error:
        if config.git.sign == "always":
            return Check("signing", "fail", f"no commit can be signed: {error}", _REMEDY)
        return Check("signing", "warn", f"git asks for signed commits, which honed cannot make: {error}", _REMEDY)
    return Check("signing", "ok", f"commits are signed ({form})" if form else "commits are not signed")


async def refuse_unsigned(config: Config) -> None:
    """Under `sign = "always"`: raise `RepositoryError` if no commit could be signed, before anything is paid."""
    if config.git.sign != "always":
        return
    try:
        await _probe(config)
    except CannotSignError as error:
        raise RepositoryError(f'[git] sign = "always", but no commit can be signed: {error} ({_REMEDY})') from error


async def _probe(config: Config) -> str:
    signer = Signer(config.skill.repository, config.git.sign)
    return await asyncio.to_thread(signer.probe, identity(author_of(config), 0))
