"""API keys out of the environment, and only there. A key's value is never part of a message."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from pydantic import SecretStr

from daemon.config import ConfigError, ModelSection

_DEFAULTS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
NO_KEY = SecretStr("no-key-needed")
"""What stands for the key of a server on loopback."""


def key_name(section: ModelSection) -> str:
    """The environment variable that holds the section's key."""
    return section.api_key_env or _DEFAULTS[section.provider]


def read_key(section: ModelSection, environ: Mapping[str, str] | None = None) -> tuple[str, SecretStr]:
    """The variable's name and the key in it (`environ`: default the process's own).

    A server on loopback needs no key unless `api_key_env` names one. Raises `ConfigError` naming the variable.
    """
    name = key_name(section)
    value = (os.environ if environ is None else environ).get(name, "").strip()
    if not value:
        if section.api_key_env is None and section.base_url is not None and _is_loopback(section.base_url):
            return name, NO_KEY
        raise ConfigError(f"the {section.provider} key is missing: set the environment variable {name}")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigError(f"the environment variable {name} holds no API key: it has blanks or odd characters")
    return name, SecretStr(value)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
