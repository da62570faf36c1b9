"""The child of a `Worker`: `python -m daemon.tasks.scorers.bounded_worker MEMORY_BYTES`, one JSON request a line.

A request names an `op` (a module of this package and a function in it) and its processor time. Whatever a request
costs beyond that ends this process by SIGPROF's default action, which no library can catch or delay.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, TextIO

Say = Callable[..., None]
Operation = Callable[[Mapping[str, Any], Say], Mapping[str, Any]]
OPERATIONS = {
    "search": "daemon.tasks.scorers.patterns_worker",
    "matches": "daemon.tasks.scorers.patterns_worker",
    "math_verify": "daemon.tasks.scorers.math_worker",
    "olympiad": "daemon.tasks.scorers.olympiad_worker",
    "check_json": "daemon.tasks.scorers.json_worker",
}
"""Operation to the module that has a function of its name."""


def allow(cpu_s: float) -> None:
    """From now on this much processor time; 0: no limit."""
    signal.setitimer(signal.ITIMER_PROF, cpu_s)


def serve(requests: TextIO, out: TextIO) -> None:
    """Do requests until there are no more."""

    def say(**what: Any) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    for line in requests:
        request = json.loads(line)
        operation = _operation(request["op"])
        allow(request["cpu_s"])
        try:
            result = operation(request, say)
        # The caller is told what went wrong, and decides whose fault it is.
        except Exception as error:
            result = {"fault": f"{type(error).__name__}: {error}"[:500]}
        allow(0)
        say(done=True, **result)


def _operation(name: str) -> Operation:
    found: Operation = getattr(importlib.import_module(OPERATIONS[name]), name)
    return found


def main() -> None:
    """Keep the pipe for replies alone: what libraries print goes nowhere."""
    memory = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    serve(sys.stdin, out)


if __name__ == "__main__":
    main()
