"""What honed leaves when it crashes: a traceback without secrets, and no image of its memory.

Invariants: whatever an exception, a thread or a destructor says passes the log's redaction before it is printed; the
kernel writes no core file of this process, nor of those that it starts.
"""

from __future__ import annotations

import resource
import sys
import threading
import traceback
from types import TracebackType

from daemon.redaction import redact


def guard_crashes() -> None:
    """From now on, in this process."""
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    sys.excepthook = _say
    threading.excepthook = _in_thread
    sys.unraisablehook = _unraisable


def _say(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """Python's own words, which show no values of variables, without what is known to be secret."""
    if issubclass(kind, KeyboardInterrupt):
        return
    sys.stderr.write(redact("".join(traceback.format_exception(kind, error, trace))))


def _in_thread(args: threading.ExceptHookArgs) -> None:
    if not issubclass(args.exc_type, SystemExit):
        _say(args.exc_type, args.exc_value, args.exc_traceback)


def _unraisable(args: sys.UnraisableHookArgs) -> None:
    _say(args.exc_type, args.exc_value, args.exc_traceback)
