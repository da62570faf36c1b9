"""A session of 1 GB, made as it is read from recorded lines, and the most memory that reading it took.

Each reader runs in a process of its own: its peak says nothing of another's.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harnesses.traces.claude_events import parse_claude
from harnesses.traces.codex_events import parse_codex
from harnesses.traces.lines import parse_object, read_lines, split_lines
from harnesses.traces.session_stream import SessionStream, slim
from harnesses.traces.skill_probe import SkillProbe
from tests.fuzz.runner import peak_mb
from tests.support.golden import CLAUDE, CODEX

SIZE = 10**9
LIMIT_MB = 300.0
"""Of a process, interpreter and imports included."""
_SESSIONS = Path(__file__).parents[1] / "golden" / "sessions"
_STREAMS = {"codex": CODEX / "success" / "stdout.jsonl", "claude": CLAUDE / "success" / "stdout.jsonl"}


@dataclass(frozen=True)
class Read:
    """One reader at its end."""

    what: str
    bytes: int
    began_mb: float
    peak_mb: float
    wall_s: float
    told: str


def lines(file: Path, size: int) -> Iterator[bytes]:
    """The file's lines again and again, each time with other texts and ids, some long; `size` bytes in all."""
    known = file.read_bytes().splitlines()
    made = number = 0
    while made < size:
        for line in known:
            number += 1
            text = line.replace(b"item_", b"item_%d_" % number).replace(b"toolu_", b"toolu_%d_" % number)
            if number % 50 == 0:
                text = text.replace(b'"text":"', b'"text":"' + b"word %d " % number * 4_000)
            made += len(text) + 1
            yield text + b"\n"
            if made >= size:
                return


def _events(name: str, size: int) -> str:
    parse = parse_codex if name == "codex" else parse_claude
    trace = parse(split_lines(lines(_STREAMS[name], size)), SkillProbe("answer-writer"))
    return f"{len(trace.events)} events kept, {trace.turns} turns"


def _session(name: str, size: int) -> str:
    stream, turns = SessionStream(), 0
    for line in split_lines(lines(_SESSIONS / f"{name}.jsonl", size)):
        entry = parse_object(line)
        turns += entry is not None and stream.entry(slim(entry)) is not None
    turns += stream.end() is not None
    return f"{turns} turns"


def _from_disk(name: str, size: int) -> str:
    """The stream as a harness reads it: out of a file, which lies on a disk."""
    with tempfile.TemporaryDirectory(prefix="fuzz-gb-") as folder:
        file = Path(folder) / "stdout.jsonl"
        with file.open("wb") as out:
            out.writelines(lines(_STREAMS[name], size))
        parse = parse_codex if name == "codex" else parse_claude
        return f"{len(parse(read_lines(file)).events)} events kept"


READERS: dict[str, tuple[Callable[[str, int], str], str]] = {
    "codex events": (_events, "codex"),
    "codex session": (_session, "codex"),
    "claude events": (_events, "claude"),
    "claude session": (_session, "claude"),
    "codex events from disk": (_from_disk, "codex"),
}


def read(what: str, size: int = SIZE) -> Read:
    """Run one reader in this process."""
    run, name = READERS[what]
    began, before = time.monotonic(), peak_mb()
    told = run(name, size)
    return Read(what, size, before, peak_mb(), time.monotonic() - began, told)


def gigabytes(size: int = SIZE) -> int:
    """All readers, two at a time; 1 if one took more than `LIMIT_MB`."""
    print(f"{'reader':24} {'bytes':>14} {'MB at start':>12} {'peak MB':>8} {'s':>6}")
    highest = 0.0
    workers = min(2, os.cpu_count() or 1)
    with multiprocessing.get_context("spawn").Pool(workers, maxtasksperchild=1) as pool:
        for one in pool.starmap(read, [(what, size) for what in READERS], chunksize=1):
            highest = max(highest, one.peak_mb)
            print(
                f"{one.what:24} {one.bytes:14,} {one.began_mb:12.0f} {one.peak_mb:8.0f} {one.wall_s:6.0f}  {one.told}"
            )
    return 1 if highest > LIMIT_MB else 0
