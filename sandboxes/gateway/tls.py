"""Which certificates are trusted: the system's (or `SSL_CERT_FILE`), for the gateway and the model clients alike."""

from __future__ import annotations

import functools
import ssl


@functools.cache
def trusted() -> ssl.SSLContext:
    """The verifying context, made once: reading all authorities takes a tenth of a second."""
    return ssl.create_default_context()
