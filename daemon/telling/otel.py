"""OpenTelemetry export, when it is configured: a provider of its own, nothing global, spans sent from a thread.

Invariant: only the configured address is asked (no redirect, no proxy of the environment); a collector that fails is a
log line of OpenTelemetry's own, and work goes on. Other headers and resource attributes come from OpenTelemetry's
standard environment variables.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import requests
import structlog

from daemon import __version__
from daemon.config import Config, ConfigError
from daemon.telling.events import Bus

log = structlog.get_logger(__name__)

EVERY_S = 2.0
"""Between two exports."""
CLOSING_S = 5.0
"""What the remaining spans get when the daemon ends."""


@asynccontextmanager
async def open_otel(bus: Bus, config: Config) -> AsyncIterator[None]:
    """Export until this is closed; raises `ConfigError` where the extra is not installed."""
    try:
        # Not at the top: the extra may be missing.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

        from daemon.telling.spans import Spans  # noqa: PLC0415
    except ImportError as error:
        msg = f"{config.file}: [telemetry] otlp_endpoint needs OpenTelemetry: pip install 'honed[otel]'"
        raise ConfigError(msg) from error
    section = config.telemetry
    endpoint = f"{(section.otlp_endpoint or '').rstrip('/')}/v1/traces"
    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=section.timeout_s, session=_session())
    resource = Resource.create({"service.name": section.service_name, "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=EVERY_S * 1000))
    spans = Spans(provider.get_tracer("honed", __version__))
    try:
        with bus.listening(spans.notice):
            yield
    finally:
        spans.close(time.time())
        try:
            await asyncio.wait_for(asyncio.to_thread(provider.shutdown), CLOSING_S)
        except TimeoutError:
            log.warning("spans_lost", reason=f"the collector took none within {CLOSING_S:g} s")


def _session() -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    session.max_redirects = 0
    return session
