"""Logging: JSON lines for machines, and for people on a terminal only what progress lines do not say already.

Always to stderr, always redacted. The standard library's loggers (docker, aiohttp, …) go through the same chain.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

import structlog

from daemon.redaction import redact_value

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger


def _redact(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: redact_value(value) for key, value in event.items()}


_state = {"json": False}


def for_machines() -> bool:
    """Log lines are JSON: progress is logged, not drawn."""
    return _state["json"]


def configure(*, json_lines: bool | None = None, verbose: bool = False) -> None:
    """Set up structlog and the standard library once a process; `json_lines` None: decide by the terminal.

    People see warnings and worse beside the progress lines, machines every attempt; `verbose` adds the rest.
    """
    as_json = not sys.stderr.isatty() if json_lines is None else json_lines
    _state["json"] = as_json
    usual = logging.INFO if as_json else logging.WARNING
    level = logging.DEBUG if verbose else usual
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        _redact,
    ]
    renderer: Processor = structlog.processors.JSONRenderer(ensure_ascii=False) if as_json else _console()
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO if verbose else logging.WARNING)
    for ours in ("daemon", "harnesses", "sandboxes", "skills_repo"):
        logging.getLogger(ours).setLevel(level)


def _console() -> Processor:
    return structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback)
