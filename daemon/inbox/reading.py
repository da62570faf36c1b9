"""One session file, read as a stream: what is kept of it, and nothing else.

Invariants: memory does not grow with the file; every string is scrubbed before anything is made of it; only a regular
file is read, never through a link, and what is beyond the caps is left out. A half-written last line is no fault: it is
read when the file has grown.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from daemon.inbox.folding import Folding
from daemon.inbox.record import MOST_SKILLS, KnownFile, SessionRecord, SkillSeen
from daemon.scrubbing import scrub, scrub_value
from harnesses.traces.lines import LineSplitter, parse_object
from harnesses.traces.session import About, Turn
from harnesses.traces.session_stream import SessionStream, slim

MOST_BYTES = 512 * 1024 * 1024
"""Of one file; what is beyond is not read."""
SETTLED_S = 900.0
"""A session that nobody went on with for so long is over, as far as its last turn is concerned."""
_CHUNK = 256 * 1024
_FILES = 20
_FILE_CHARS = 20_000
"""Of all contents kept of one session."""


class NoSessionError(Exception):
    """A file is no session of a person's; `str()` says why in a few words."""


@contextmanager
def open_session(path: Path) -> Iterator[BinaryIO]:
    """A regular file, opened without following a link or waiting for anybody; raises `NoSessionError`, `OSError`."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            msg = "is no regular file"
            raise NoSessionError(msg)
        yield file


@dataclass
class _Reading:
    stream: SessionStream = field(default_factory=SessionStream)
    fold: Folding = field(default_factory=Folding)
    digest: Any = field(default_factory=hashlib.sha256)
    size: int = 0
    bad_lines: int = 0

    def line(self, line: bytes) -> None:
        """One line; whatever it holds raises nothing but `NoSessionError`."""
        if not line.strip():
            return
        entry = parse_object(line)
        try:
            clean = scrub_value(slim(entry)) if entry is not None else None
        except RecursionError:
            clean = None
        if clean is None:
            self.bad_lines += 1
            if self.bad_lines >= 100 and self.stream.about is None:
                msg = "is no session: its lines are no JSON objects"
                raise NoSessionError(msg)
            return
        turn = self.stream.entry(clean)
        if self.stream.hopeless:
            msg = "is no session of Claude Code or Codex"
            raise NoSessionError(msg)
        self.take(turn)

    def take(self, turn: Turn | None, *, last_of_live: bool = False) -> None:
        """Fold a turn in, if there is one."""
        if turn is not None:
            self.fold.add(turn, last_of_live=last_of_live)


def read_session_file(path: Path, now: float) -> SessionRecord:
    """What is kept of a session file (blocks).

    `now` (seconds since 1970) tells whether the session is over. Raises `NoSessionError` or `OSError`.
    """
    reading, splitter = _Reading(), LineSplitter()
    with open_session(path) as file:
        touched = os.fstat(file.fileno()).st_mtime
        while reading.size < MOST_BYTES and (chunk := file.read(_CHUNK)):
            reading.size += len(chunk)
            reading.digest.update(chunk)
            for line in splitter.feed(chunk):
                reading.line(line)
    for line in splitter.finish():
        if parse_object(line) is not None:  # else it is being written
            reading.line(line)
    about = reading.stream.about
    if about is None:
        msg = "is no session of Claude Code or Codex"
        raise NoSessionError(msg)
    settled = all(now - when >= SETTLED_S for when in (touched, about.ended) if when is not None and when <= now)
    reading.take(reading.stream.end(), last_of_live=not settled)
    return _record(path, reading, about, settled=settled)


def _record(path: Path, reading: _Reading, about: About, *, settled: bool) -> SessionRecord:
    if not about.root:
        msg = "is the session of a sub-agent"
        raise NoSessionError(msg)
    if not reading.fold.turns:
        msg = "is a session in which nobody asked for anything"
        raise NoSessionError(msg)
    digest = reading.digest.hexdigest()
    told = f"{about.harness}\0{about.session_id}" if about.session_id else f"\0{digest}"
    return SessionRecord(
        key=hashlib.sha256(told.encode()).hexdigest()[:16],
        harness=about.harness,
        session_id=about.session_id,
        digest=f"sha256:{digest}",
        size=reading.size,
        source=scrub(path.name)[:200],
        folder=about.folder,
        model=about.model,
        started=about.started,
        ended=about.ended,
        settled=settled,
        turns=reading.fold.turns,
        calls=reading.fold.calls,
        bad_lines=reading.bad_lines,
        skills=_skills(about),
        incidents=reading.fold.incidents,
        asked=reading.fold.asked,
        files=_files(about),
    )


def _skills(about: About) -> tuple[SkillSeen, ...]:
    """Those that were opened first, then those that were only listed."""
    names = [*about.opened, *(name for name in about.listed if name not in about.opened)]
    seen = []
    for name in names[:MOST_SKILLS]:
        found = about.opened.get(name)
        path, digest = (found.path, found.digest) if found else ("", "")
        seen.append(SkillSeen(name=name, listed=name in about.listed, opened=bool(found), path=path, digest=digest))
    return tuple(seen)


def _files(about: About) -> tuple[KnownFile, ...]:
    kept, left = [], _FILE_CHARS
    for path, content in list(about.files.items())[:_FILES]:
        short = path.removeprefix(about.folder.rstrip("/") + "/") if about.folder else path
        fits = content is not None and len(content) <= left
        left -= len(content) if content is not None and fits else 0
        kept.append(KnownFile(path=short, content=content if fits else None))
    return tuple(kept)
