"""Why a provider could not be reached, in a few words; used by the gateway and by the model clients alike."""

from __future__ import annotations

import aiohttp

from sandboxes.gateway.dialects import shown


def why_unreachable(error: Exception) -> str:
    """Of what the HTTP client raised; never the address, which people may have put a password into."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        why = getattr(error.certificate_error, "verify_message", "")
        return "its TLS certificate is not trusted" + (f": {shown(why, 80)}" if why else "")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "host name not found"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "connection refused" if isinstance(error.os_error, ConnectionRefusedError) else "cannot connect"
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "cannot connect"
    return type(error).__name__
