"""`[telemetry]` of honed.toml: where the daemon's spans go. By default nowhere."""

from __future__ import annotations

from pydantic import Field, field_validator

from daemon.config_train import Section
from daemon.config_values import is_address


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
        if value is not None and not is_address(value):
            what = "must be http(s)://host[:port][/path] without user, query or fragment (a token goes into the "
            raise ValueError(what + "environment variable OTEL_EXPORTER_OTLP_HEADERS)")
        return value
