"""`[daemon] listen` of honed.toml as an address; loopback unless the configuration says that it may be public."""

from __future__ import annotations

from urllib.parse import urlsplit

from skills_repo.publish.address import is_loopback


def read_listen(text: str, *, public: bool) -> tuple[str, int]:
    """Host and port (0: a free one); raises `ValueError` that says what it must be."""
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if port is None or not host or any(sign in text for sign in "@/?#\\ ") or not text.isprintable():
        raise ValueError('listen must be host:port, such as "127.0.0.1:9464" or "[::1]:9464"')
    if not public and not is_loopback(host):
        msg = "listen must be a loopback address: whoever reaches it reads names of skills, scores and costs; "
        raise ValueError(msg + "set listen_public = true beside it where that is meant")
    return host, port
