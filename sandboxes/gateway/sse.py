"""An incremental reader of server-sent events: bytes in any slices in, whole events out, memory bounded."""

from __future__ import annotations

from dataclasses import dataclass

EVENT_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class SseEvent:
    """One event; `name` is empty where the stream gives none."""

    name: str
    data: bytes


class SseReader:
    """Feed it chunks; it yields the events they complete. An event larger than the bound is dropped and remembered."""

    def __init__(self, event_bytes: int = EVENT_BYTES) -> None:
        self._limit = event_bytes
        self._line = bytearray()
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0
        self._skipping = False
        self.dropped = 0
        """Events that were too large to read."""

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Events completed by this chunk, in order."""
        events: list[SseEvent] = []
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._append(line)
            event = self._end_line()
            if event is not None:
                events.append(event)
        self._append(rest)
        return events

    def _append(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._skipping = True
            self._line.clear()
            self._data.clear()
        if not self._skipping:
            self._line += part
        elif part and part != b"\r":
            # Only whether the line is blank still matters.
            self._line[:] = b":"

    def _end_line(self) -> SseEvent | None:
        line = bytes(self._line).removesuffix(b"\r")
        self._line.clear()
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _dispatch(self) -> SseEvent | None:
        event = SseEvent(self._name, b"\n".join(self._data)) if self._data else None
        if self._skipping:
            self.dropped += 1
            event = None
        self._name, self._data, self._size, self._skipping = "", [], 0, False
        return event
