"""`[hooks]` of honed.toml: who is told of what the daemon did. By default nobody is.

The secret that signs is not here: `secret_env` names the environment variable that holds it.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from daemon.config_train import Section
from daemon.config_values import VARIABLE, is_private_address, matching

HookEvent = Literal["accepted", "rejected-by-person", "paused", "broken", "ended"]


class HooksSection(Section):
    """`[hooks]`: a command, an address, or both."""

    on: tuple[HookEvent, ...] = ("accepted", "rejected-by-person", "paused", "broken")
    """What is told."""
    command: tuple[str, ...] = ()
    """A program with its arguments, run without a shell in honed.toml's folder, with the notification on stdin."""
    url: str | None = None
    """Where it is posted to."""
    secret_env: str | None = None
    """Variable with the secret that signs what is posted; `url` needs it."""
    timeout_s: float = Field(default=10.0, gt=0, le=60)
    """Of the command, and of one try of a post."""
    tries: int = Field(default=5, ge=1, le=10)
    """Of one post."""

    @field_validator("command")
    @classmethod
    def _command(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if value and (not value[0].strip() or any("\0" in one for one in value)):
            msg = 'must be a program and its arguments, such as ["/usr/local/bin/tell-team", "honed"]'
            raise ValueError(msg)
        return value

    @field_validator("url")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        if value is not None and not is_private_address(value):
            what = "must be https://host[:port][/path] without user, query or fragment (http:// on loopback alone)"
            raise ValueError(what)
        return value

    @field_validator("secret_env")
    @classmethod
    def _secret_env(cls, value: str | None) -> str | None:
        what = "must be the name of an environment variable, never the secret itself"
        return None if value is None else matching(VARIABLE, value, what)

    @model_validator(mode="after")
    def _signed(self) -> HooksSection:
        if self.url is not None and self.secret_env is None:
            msg = "secret_env is missing: url needs it, for every post is signed (name a variable and put a secret in)"
            raise ValueError(msg)
        return self
