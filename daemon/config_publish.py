"""`[publish]` of honed.toml: whether accepted edits leave this machine, and how. By default nothing does.

Publishing decides nothing about a run, so it is no part of a run's fingerprint. The token is not here: `token_env`
names the environment variable that holds it.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, field_validator

from daemon.config_train import Section
from daemon.config_values import VARIABLE, is_private_address, matching
from skills_repo.publish.settings import PublishSettings

_REMOTE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_BRANCH = re.compile(r"(?!.*(?:\.\.|//|@\{|\.lock(?:/|$)|[./]$))[A-Za-z0-9_][A-Za-z0-9._/+#-]{0,199}")
_LABEL = re.compile(r"[^\s,\x00-\x1f\x7f](?:[^,\x00-\x1f\x7f]{0,48}[^\s,\x00-\x1f\x7f])?")


class PublishSection(Section):
    """`[publish]`: what becomes of the branch `honed/<skill>`."""

    mode: Literal["branch", "push", "pull-request", "direct"] = "branch"
    """`branch`: nothing leaves the machine. `direct`: push to the base branch itself."""
    remote: str = "origin"
    """Name of a git remote, never an address."""
    base: str | None = None
    """Branch that edits are meant for; None: the remote's default branch."""
    forge: Literal["auto", "github", "gitlab"] = "auto"
    """`auto`: from the remote's address."""
    api_url: str | None = None
    """None: from the remote's address."""
    token_env: str | None = None
    """None: GITHUB_TOKEN or GITLAB_TOKEN."""
    open_limit: int = Field(default=5, ge=1)
    """Open requests of honed in the project at once."""
    daily_limit: int = Field(default=5, ge=1)
    """Requests of honed opened on one day (UTC)."""
    labels: tuple[str, ...] = ()
    timeout_s: float = Field(default=120.0, gt=0, le=86_400)
    """Of one git transfer; a quarter of it for one request to the forge."""

    @field_validator("remote")
    @classmethod
    def _remote(cls, value: str) -> str:
        return matching(_REMOTE, value, "must be the name of a git remote (see `git remote`), never an address")

    @field_validator("base")
    @classmethod
    def _base(cls, value: str | None) -> str | None:
        what = "must be a branch name without refs/heads/, such as main"
        if value is not None and value.startswith("refs/"):
            raise ValueError(what)
        return None if value is None else matching(_BRANCH, value, what)

    @field_validator("token_env")
    @classmethod
    def _token_env(cls, value: str | None) -> str | None:
        what = "must be the name of an environment variable, never the token itself"
        return None if value is None else matching(VARIABLE, value, what)

    @field_validator("labels")
    @classmethod
    def _labels(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(matching(_LABEL, one, "must be labels of at most 50 characters, without commas") for one in value)

    @field_validator("api_url")
    @classmethod
    def _api_url(cls, value: str | None) -> str | None:
        if value is not None and not is_private_address(value):
            what = "must be https://host[/path] without user, query or fragment (http:// on loopback alone): "
            raise ValueError(what + "a token goes there")
        return None if value is None else value.rstrip("/")

    def settings(self) -> PublishSettings:
        """The section as publishing takes it."""
        return PublishSettings(
            mode=self.mode,
            remote=self.remote,
            base=self.base,
            open_limit=self.open_limit,
            daily_limit=self.daily_limit,
            labels=self.labels,
        )
