"""From a remote's address to the project on its forge.

Invariant: user names and passwords in an address are dropped at once and never part of a message.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from skills_repo.publish.errors import PublishError
from skills_repo.publish.settings import ForgeKind

_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]{2,}):(?!//)(?P<path>.+)")
_USER = re.compile(r"(?<=://)[^/@\s]*@")
_PATH = re.compile(r"[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+")


@dataclass(frozen=True)
class Project:
    """One project on a forge."""

    kind: ForgeKind
    api_url: str
    """Without a slash at its end."""
    path: str
    """`owner/name`; on GitLab with all groups."""


def without_user(text: str) -> str:
    """A text without the user part of the addresses in it."""
    return _USER.sub("", text)


def same_project(one: str, other: str) -> bool:
    """Two addresses of one project, over ssh and https for instance."""
    places = [_parts(address) for address in (one, other)]
    return one == other or (bool(places[0][1]) and places[0][1::2] == places[1][1::2])


def project_of(address: str, kind: Literal["auto", "github", "gitlab"] = "auto", api_url: str | None = None) -> Project:
    """The project that a remote's address stands for; raises `PublishError` naming the key that mends it."""
    scheme, host, port, path = _parts(address)
    if not host or not _PATH.fullmatch(path):
        msg = f"{without_user(address)!r} is no address of a project on a forge: mend [publish] remote"
        raise PublishError(msg + ' (or set mode = "push")')
    chosen = _kind(host) if kind == "auto" else kind
    if chosen is None:
        raise PublishError(f'cannot tell which forge {host} is: set [publish] forge to "github" or "gitlab"')
    if chosen == "github" and path.count("/") != 1:
        raise PublishError(f"{path!r} is no owner/name: mend the address of [publish] remote")
    return Project(chosen, (api_url or _api(chosen, scheme, host, port)).rstrip("/"), path)


def _parts(address: str) -> tuple[str, str, int | None, str]:
    """Scheme, host, port and path (without `.git`)."""
    scheme, host, port, path = "", "", None, ""
    scp = None if "://" in address else _SCP.fullmatch(address)
    if scp is not None:
        scheme, host, path = "ssh", scp["host"].strip("[]"), scp["path"]
    elif "://" in address:
        try:
            parts = urlsplit(address)
            scheme, host, port, path = parts.scheme, parts.hostname or "", parts.port, unquote(parts.path)
        except ValueError:
            host = ""
    return scheme, host, port, path.strip("/").removesuffix(".git")


def _kind(host: str) -> ForgeKind | None:
    names = host.lower().split(".")
    if "github" in names:
        return "github"
    return "gitlab" if "gitlab" in names else None


def _api(kind: ForgeKind, scheme: str, host: str, port: int | None) -> str:
    if kind == "github" and host.lower() in ("github.com", "ssh.github.com", "www.github.com"):
        return "https://api.github.com"
    plain = scheme == "http" and is_loopback(host)  # a token never travels unprotected
    name = f"[{host}]" if ":" in host else host
    place = f"{name}:{port}" if port and scheme in ("http", "https") else name
    return f"{'http' if plain else 'https'}://{place}/api/{'v3' if kind == 'github' else 'v4'}"


def is_loopback(host: str) -> bool:
    """True for the names of the machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
