"""What a verb prints: progress to stderr, the result to stdout; with `--json` the result is one JSON line, the last.

Everything printed is redacted; text from models and tasks is printed as plain text, never as markup or control codes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from rich.console import Console
from rich.text import Text

from daemon.logs import for_machines
from daemon.plain import json_line, plain
from daemon.redaction import redact, redact_value

log = structlog.get_logger(__name__)


def error_line(kind: str, message: str) -> None:
    """What went wrong as the one JSON line on stdout that `--json` promises."""
    sys.stdout.write(json_line({"error": {"kind": kind, "message": redact(message)}}))
    sys.stdout.flush()


class Output:
    """One verb's output."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.progress = Console(stderr=True, highlight=False, soft_wrap=True)
        self.console = Console(highlight=False, soft_wrap=not sys.stdout.isatty())

    def say(self, line: str) -> None:
        """One line of progress, on stderr."""
        if for_machines():
            log.info("progress", line=line)
        else:
            self.progress.print(Text(plain(line)))

    def warn(self, line: str) -> None:
        """A line that must not be missed, on stderr."""
        if for_machines():
            log.warning("notice", line=line)
        else:
            self.progress.print(Text(plain(line), style="bold yellow"), soft_wrap=False)

    def result(self, data: Mapping[str, Any], render: Callable[[Console], None]) -> None:
        """The verb's result: one JSON line, or what `render` draws for people."""
        if self.as_json:
            sys.stdout.write(json_line(redact_value(data)))
            sys.stdout.flush()
        else:
            render(self.console)

    def error(self, kind: str, line: str) -> None:
        """The one line that says what went wrong and what mends it."""
        self.progress.print(Text.assemble(("honed: ", "bold red"), plain(line)))
        if self.as_json:
            error_line(kind, line)
