"""The forge's token out of the environment, and only there. Its value is never part of a message."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pydantic import SecretStr

from daemon.config import Config, ConfigError
from daemon.config_publish import PublishSection
from daemon.redaction import register_secret
from daemon.secrets import key_name
from skills_repo.publish.settings import ForgeKind

_DEFAULTS: dict[ForgeKind, str] = {"github": "GITHUB_TOKEN", "gitlab": "GITLAB_TOKEN"}


def token_name(section: PublishSection, kind: ForgeKind) -> str:
    """The environment variable that holds the token."""
    return section.token_env or _DEFAULTS[kind]


def read_token(
    section: PublishSection, kind: ForgeKind, environ: Mapping[str, str] | None = None
) -> tuple[str, SecretStr]:
    """The variable's name and the token in it, which no log shows from now on; raises `ConfigError`."""
    name = token_name(section, kind)
    value = (os.environ if environ is None else environ).get(name, "").strip()
    if not value:
        msg = f"the forge's token is missing: set the environment variable {name}"
        raise ConfigError(f"{msg} (or name another in [publish] token_env)")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigError(f"the environment variable {name} holds no token: it has blanks or odd characters")
    token = SecretStr(value)
    register_secret(token)
    return name, token


def model_keys(config: Config) -> frozenset[str]:
    """Variables that hold models' keys: nothing that publishing starts needs them."""
    return frozenset({key_name(config.target), key_name(config.optimizer), "OPENAI_API_KEY", "ANTHROPIC_API_KEY"})
