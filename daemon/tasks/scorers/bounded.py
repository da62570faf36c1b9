"""Work that an answer could make endless (patterns, algebra, schemas) is done in a process that can be ended.

A `Worker` keeps one child (`python -m daemon.tasks.scorers.bounded_worker`) and gives it one request at a time, which
it does in a copy of itself. The copy's processor time and memory are limited; a request that exceeds either ends that
copy alone. Processor time, not the clock, decides: a verdict does not depend on how busy the machine is.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import daemon
from daemon.tasks.scorers.scorer import VerifierError

MIB = 1024 * 1024
CPU_S = 1.0
"""Processor time of what an answer may cost, in seconds."""
WALL_S = 120.0
"""Until a request is given up on, start of the child included: only a machine that stands still takes so long."""
LOOK_MS = 500
"""How often a silent child is looked after."""

Death = Literal["", "time", "crash"]


@dataclass(frozen=True)
class Reply:
    """What the child said to one request."""

    said: tuple[Mapping[str, Any], ...]
    """One object a stage; the last one carries `done`, unless the work ended early."""
    death: Death = ""
    """Why it did: its processor time was up, or it crashed (too deep, too large)."""

    @property
    def result(self) -> Mapping[str, Any]:
        """The last object; raises `VerifierError` if the work ended early or met a fault of its own."""
        if self.death:
            msg = "it took too long" if self.death == "time" else "it crashed"
            raise VerifierError(msg)
        last = self.said[-1]
        if "fault" in last:
            msg = f"it failed: {last['fault']}"
            raise VerifierError(msg)
        return last


class Worker:
    """One child at a time, made when first needed and again after one has died. Safe to share between threads."""

    def __init__(self, memory_bytes: int, wall_s: float = WALL_S) -> None:
        self._memory_bytes = memory_bytes
        self._wall_s = wall_s
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    async def ask(self, op: str, cpu_s: float = CPU_S, **what: Any) -> Reply:
        """Do a request within `cpu_s` of processor time; raises `VerifierError` if the machine does not do it."""
        return await asyncio.to_thread(self._ask, json.dumps({"op": op, "cpu_s": cpu_s, **what}).encode() + b"\n")

    def _ask(self, line: bytes) -> Reply:
        with self._lock:
            child = self._send(line)
            try:
                said, whole = self._listen(child)
            except BaseException:
                self._end()
                raise
            if not whole:
                self._end()
                return Reply(tuple(said), "crash")
            death: Death = said[-1].get("death", "")
            return Reply(tuple(said[:-1] if death else said), death)

    def _send(self, line: bytes) -> subprocess.Popen[bytes]:
        """Write to a living child; one that died unasked is replaced once."""
        for fresh in (False, True):
            if self._child is not None and self._child.poll() is not None:
                self._end()
            child = self._started() if fresh or self._child is None else self._child
            assert child.stdin is not None
            try:
                child.stdin.write(line)
                child.stdin.flush()
            except BrokenPipeError:
                self._end()
            else:
                return child
        msg = "the scorers' worker process does not start: run `honed doctor`"
        raise VerifierError(msg)

    def _started(self) -> subprocess.Popen[bytes]:
        self._child = subprocess.Popen(
            (sys.executable, "-P", "-s", "-m", "daemon.tasks.scorers.bounded_worker", str(self._memory_bytes)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.defpath, "PYTHONPATH": str(Path(daemon.__file__).parent.parent), "LANG": "C.UTF-8"},
        )
        return self._child

    def _listen(self, child: subprocess.Popen[bytes]) -> tuple[list[Mapping[str, Any]], bool]:
        """What it says until it is done (True) or its end closes (False)."""
        assert child.stdout is not None
        deadline = time.monotonic() + self._wall_s
        poll = select.poll()
        poll.register(child.stdout, select.POLLIN | select.POLLHUP)
        said: list[Mapping[str, Any]] = []
        rest = b""
        while time.monotonic() < deadline:
            if not poll.poll(min(LOOK_MS, self._wall_s * 1000)):
                # A copy may still hold the pipe of a child that is gone.
                if child.poll() is not None:
                    return said, False
                continue
            data = os.read(child.stdout.fileno(), 1 << 16)
            if not data:
                return said, False
            *lines, rest = (rest + data).split(b"\n")
            said += map(json.loads, lines)
            if said and "done" in said[-1]:
                return said, True
        msg = f"the scorers' worker process gave no answer within {self._wall_s:g} s: the machine is too busy"
        raise VerifierError(msg)

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                assert pipe is not None
                try:
                    pipe.close()
                except BrokenPipeError:  # what was still to be written to a dead child is of no use
                    continue

    def close(self) -> None:
        """End the child; the next request makes a new one."""
        with self._lock:
            self._end()


TEXT = Worker(512 * MIB)
"""For patterns and JSON."""
MATH = Worker(2048 * MIB)
"""For algebra: it takes a second to start and stays."""
atexit.register(TEXT.close)
atexit.register(MATH.close)
