"""`[telemetry]` of honed.toml: where the daemon's spans go. By default nowhere."""

from __future__ import annotations

from urllib.parse import urlsplit

from pydantic import Field, field_validator

from daemon.config_train import Section


class TelemetrySection(Section):
    """`[telemetry]`: OpenTelemetry over OTLP/HTTP."""

    otlp_endpoint: str | None = None
    """Of a collector, without `/v1/traces`."""
    service_name: str = Field(default="honed", min_length=1, max_length=100)
    timeout_s: float = Field(default=10.0, gt=0, le=60)
    """Of one export."""

    @field_validator("otlp_endpoint")
    @classmethod
    def _endpoint(cls, value: str | None) -> str | None:
        if value is not None and not _is_address(value):
            what = "must be http(s)://host[:port][/path] without user, query or fragment (a token goes into the "
            raise ValueError(what + "environment variable OTEL_EXPORTER_OTLP_HEADERS)")
        return value


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port_ok = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = not (parts.query or parts.fragment or "@" in parts.netloc or " " in text) and text.isprintable()
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port_ok and plain
