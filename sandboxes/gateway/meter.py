"""Reads usage, end and errors off an answer as it passes, for all dialects, streaming or whole.

It never changes a byte. `counts()` tells whether the numbers are the provider's own or an estimate: an answer that
ends without usage is charged by its size, so that cutting a stream short is no way around a cap.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from sandboxes.gateway.dialects import Dialect
from sandboxes.gateway.failures import ErrorBody, error_body
from sandboxes.gateway.requests import too_many_parts
from sandboxes.gateway.sse import SseEvent, SseReader
from sandboxes.gateway.usage import AnthropicCounts, Counts, anthropic_counts, estimated_tokens, openai_counts

_PREAMBLE = {"response.created", "response.in_progress", "response.queued", "ping"}
_TELLING = {
    "response.completed",
    "response.incomplete",
    "response.failed",
    "error",
    "message_start",
    "message_delta",
    "message_stop",
    "message",
    "",
}


class StreamMeter:
    """Watches one event stream."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._reader = SseReader()
        self._openai: Counts | None = None
        self._anthropic = AnthropicCounts()
        self._closed_count = False
        self.substantial = False
        """True once something was seen that a client may act on: before that, a failed try can be repeated unseen."""
        self.telling = 0
        """Events so far that are more than a sign of life."""
        self.finished = False
        """True once the dialect's own last event was seen."""
        self.error: ErrorBody | None = None
        """The provider's error inside the stream."""

    def feed(self, chunk: bytes) -> None:
        """Look at the next bytes."""
        for event in self._reader.feed(chunk):
            self._see(event)

    def counts(self) -> tuple[Counts | None, bool]:
        """Counts so far, and whether they are the provider's final word."""
        if self._dialect.provider == "anthropic":
            return self._anthropic.counts(), self._closed_count and self._anthropic.believable
        return self._openai, self._openai is not None

    def _see(self, event: SseEvent) -> None:
        self.substantial = self.substantial or event.name not in _PREAMBLE
        self.telling += event.name != "ping"
        if event.data.strip() == b"[DONE]":
            self.finished = True
            return
        if event.name not in _TELLING:
            return
        body = _object(event.data)
        kind = body.get("type")
        kind = kind if isinstance(kind, str) else ""
        if event.name in {"", "message"} and kind in _PREAMBLE:
            self.substantial = False
        if kind == "error" or "error" in body:
            self.error = error_body(body.get("error") or body)
        elif self._dialect is Dialect.CHAT:
            self._see_chat(body)
        elif self._dialect is Dialect.RESPONSES:
            self._see_responses(kind, body)
        else:
            self._see_messages(kind, body)

    def _see_chat(self, body: dict[str, Any]) -> None:
        self._openai = openai_counts(body.get("usage")) or self._openai
        choices = body.get("choices")
        if isinstance(choices, list) and any(isinstance(c, dict) and c.get("finish_reason") for c in choices):
            self.finished = True

    def _see_responses(self, kind: Any, body: dict[str, Any]) -> None:
        response = body.get("response")
        if kind not in {"response.completed", "response.incomplete", "response.failed"}:
            return
        if not isinstance(response, dict):
            response = {}
        self._openai = openai_counts(response.get("usage")) or self._openai
        self.finished = True
        if kind == "response.failed":
            self.error = error_body(response.get("error"))

    def _see_messages(self, kind: Any, body: dict[str, Any]) -> None:
        if kind == "message_start" and isinstance(body.get("message"), dict):
            self._anthropic.update(body["message"].get("usage"))
        elif kind == "message_delta":
            self._closed_count = self._anthropic.update(body.get("usage")) or self._closed_count
        elif kind == "message_stop":
            self.finished = True


def whole_counts(dialect: Dialect, body: Any) -> Counts | None:
    """Counts of an answer that came whole (parsed JSON)."""
    usage = body.get("usage") if isinstance(body, dict) else None
    return anthropic_counts(usage) if dialect.provider == "anthropic" else openai_counts(usage)


def settle(counts: Counts | None, *, final: bool, sent: int, received: int) -> Counts:
    """The counts to charge: the provider's where they are final, else at least what the bytes suggest."""
    if counts is not None and final:
        return counts
    known = counts or Counts()
    return replace(
        known, input=known.input or estimated_tokens(sent), output=max(known.output, estimated_tokens(received))
    )


def _object(data: bytes) -> dict[str, Any]:
    if too_many_parts(data):
        return {}
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
