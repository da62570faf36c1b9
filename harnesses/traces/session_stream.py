"""One session file of either CLI, entry by entry: which of the two it is shows at the first entry that tells."""

from __future__ import annotations

from typing import Any

from harnesses.traces import claude_turns, codex_turns
from harnesses.traces.claude_turns import ClaudeTurns
from harnesses.traces.codex_turns import CodexTurns
from harnesses.traces.fields import text_of
from harnesses.traces.session import About, SessionReader, Turn

SNIFFED = 50
"""Entries that may come before the first that tells."""

_TELLING = {"user", "assistant", "attachment", "session_meta", "turn_context", "response_item", "event_msg"}
_OF_ANY = ("type", "sessionId", "uuid", "leafUuid", "timestamp", "cwd", "isSidechain")


def slim(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without what no reader looks at: whole requests, prompts of the CLI, results told a second time."""
    if text_of(entry, "type") not in _TELLING:
        return {key: entry[key] for key in _OF_ANY if key in entry}
    structured = entry.get("toolUseResult")
    if structured is None:
        return entry
    kept = (
        {key: structured[key] for key in ("type", "file") if key in structured}
        if isinstance(structured, dict)
        else None
    )
    return {**entry, "toolUseResult": kept}


class SessionStream:
    """Feed it parsed lines; it gives turns as they end."""

    def __init__(self) -> None:
        self._reader: SessionReader | None = None
        self._seen = 0

    @property
    def about(self) -> About | None:
        """What is known of the session; None: nothing yet says that it is one."""
        return None if self._reader is None else self._reader.about

    @property
    def hopeless(self) -> bool:
        """So many entries, and none is of a session file."""
        return self._reader is None and self._seen >= SNIFFED

    def entry(self, entry: dict[str, Any]) -> Turn | None:
        """One entry; gives the turn that it ended."""
        if self._reader is None:
            self._seen += 1
            self._reader = _reader(entry)
        return None if self._reader is None else self._reader.entry(entry)

    def end(self) -> Turn | None:
        """The file is over; gives the turn that was open."""
        return None if self._reader is None else self._reader.end()


def _reader(entry: dict[str, Any]) -> SessionReader | None:
    kind = entry.get("type")
    if not isinstance(kind, str):
        return None
    if kind in codex_turns.TYPES and isinstance(entry.get("payload"), dict):
        return CodexTurns()
    if "sessionId" in entry or (kind in claude_turns.TYPES and ("uuid" in entry or "leafUuid" in entry)):
        return ClaudeTurns()
    return None
