"""The child of a `Worker`: `python -m daemon.tasks.scorers.bounded_worker MEMORY_BYTES`, one JSON request a line.

A request names an `op` (a function in a module of this package) and its processor time. It is done in a copy of this
process, which has the libraries loaded already; what it costs beyond that time ends the copy by SIGPROF's default
action, which no library can catch or delay. So one request leaves nothing behind for the next; and a copy whose maker
is killed ends with it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TextIO

_SET_DEATH_SIGNAL = 1
"""`prctl(2)`, PR_SET_PDEATHSIG"""
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


def serve(requests: TextIO, out: TextIO) -> None:
    """Do requests until there are no more."""

    def say(**what: Any) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    for line in requests:
        request = json.loads(line)
        try:
            operation = _operation(request["op"])
        # An extra that is not installed, for instance: told, and the next request may need another module.
        except Exception as error:
            say(done=True, fault=_told(error))
            continue
        maker, pid = os.getpid(), os.fork()
        if not pid:
            _end_with(maker)
            _work(operation, request, say)
        _, status = os.waitpid(pid, 0)
        if status:
            slow = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF
            say(done=True, death="time" if slow else "crash")


def _end_with(maker: int) -> None:
    """Have the system kill this copy once its maker has ended."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != maker:  # it had ended before it was asked for
        os._exit(1)


def _work(operation: Operation, request: Mapping[str, Any], say: Say) -> NoReturn:
    """Do one request in a copy of this process, which ends with it."""
    try:
        signal.setitimer(signal.ITIMER_PROF, request["cpu_s"])
        try:
            result = operation(request, say)
        # The caller is told what went wrong, and decides whose fault it is.
        except Exception as error:
            result = {"fault": _told(error)}
        signal.setitimer(signal.ITIMER_PROF, 0)
        say(done=True, **result)
        os._exit(0)
    finally:
        os._exit(1)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:500]


def _operation(name: str) -> Operation:
    module = importlib.import_module(OPERATIONS[name])
    if hasattr(module, "warm"):
        module.warm()
    found: Operation = getattr(module, name)
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
