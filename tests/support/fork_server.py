"""A process that has imported all of honed and forks one command after the other: each is spared the imports.

    python -m tests.support.fork_server FD

`FD` is a socket of packets. A packet is one command as JSON, with four descriptors: its stdin, stdout, stderr, and a
socket on which the server says its process id, and how it ended. The server ends when the other end of `FD` is closed.
A child differs from a command that was started: it has all modules, its server's hash seed, and its locale.
"""

from __future__ import annotations

import gc
import json
import os
import select
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import daemon
import harnesses
import sandboxes
import skills_repo
from daemon.cli import main

MOST = 1 << 20


def serve(control: socket.socket) -> None:
    """Until there is nobody to serve; returns in the children too, which are then what was asked for."""
    running: dict[int, tuple[int, socket.socket]] = {}
    ended: dict[int, tuple[int, socket.socket]] = {}
    poll = select.poll()
    poll.register(control, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready in running:
                poll.unregister(ready)
                os.close(ready)
                child, answer = running.pop(ready)
                _tell_end(child, answer)
                poll.register(answer, select.POLLIN)
                ended[answer.fileno()] = child, answer
                continue
            if ready in ended:  # whoever asked has hung up
                poll.unregister(ready)
                child, answer = ended.pop(ready)
                os.waitpid(child, 0)
                answer.close()
                continue
            packet, given, _, _ = socket.recv_fds(control, MOST, 4)
            if not packet:
                sys.exit()
            child = os.fork()
            if child == 0:
                _become(json.loads(packet), given)
                return
            handle = os.pidfd_open(child)
            running[handle] = child, _asker(child, given)
            poll.register(handle, select.POLLIN)


def _asker(child: int, given: list[int]) -> socket.socket:
    """Tell whoever asked the process's id, and keep no more than the way to them."""
    answer = socket.socket(fileno=given.pop())
    for one in given:
        os.close(one)
    with suppress(OSError):  # they have given up
        answer.send(str(child).encode())
    return answer


def _tell_end(child: int, answer: socket.socket) -> None:
    """The dead child keeps its id, as one of their own would, until they hang up: nobody else is sent their signals."""
    found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert found is not None
    code = found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
    with suppress(OSError):  # they have given up
        answer.send(str(code).encode())


def _become(command: dict[str, Any], given: list[int]) -> None:
    """Take the command's place: its streams and no other descriptor, its folder, its environment."""
    for number, one in enumerate(given[:3]):
        os.dup2(one, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(command["cwd"])
    os.environ.clear()
    os.environ.update(command["env"])
    time.tzset()
    sys.argv = command["argv"]
    sys.path[0] = str(Path(sys.argv[0]).parent)
    script = sys.modules["__main__"]  # usage lines name the program by it
    script.__package__, script.__spec__, script.__file__ = None, None, sys.argv[0]


def _ready() -> None:
    """Import every module of honed, and what it imports when it is needed, such as the providers' client libraries."""
    for package in (daemon, harnesses, sandboxes, skills_repo):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            with suppress(ImportError):  # of an extra that is not installed
                import_module(module.name)
    tasks = [one.name for one in Path("/proc/self/task").iterdir()]
    assert len(tasks) == 1, "threads do not come along when a process forks"
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    _ready()
    serve(socket.socket(fileno=int(sys.argv[1])))
    main()
