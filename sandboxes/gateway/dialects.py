"""The wire dialects a door speaks: which paths lead where, and how each is told *no*.

A refusal is part of the agent's prompt: it starts `honed policy:`, says what, and that retrying will not help. Its
status is one after which the real CLI gives up at once (measured: Codex at 400; Claude Code at 410, while it asks six
times at 400 and shows 403 as a failed login).
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandboxes.gateway.policy import Provider

POLICY_PREFIX = "honed policy:"
NO_RETRY = "retrying will not help"


class Dialect(StrEnum):
    """One request format."""

    RESPONSES = "responses"
    CHAT = "chat"
    MESSAGES = "messages"
    COUNT_TOKENS = "count_tokens"

    @property
    def provider(self) -> Provider:
        """Whose protocol it is."""
        return "openai" if self in {Dialect.RESPONSES, Dialect.CHAT} else "anthropic"

    def url(self, base_url: str) -> str:
        """Where the real request goes."""
        base = base_url.rstrip("/")
        if self.provider == "anthropic":
            base = base.removesuffix("/v1")
        return base + _UPSTREAM_PATHS[self]


_UPSTREAM_PATHS = {
    Dialect.RESPONSES: "/responses",
    Dialect.CHAT: "/chat/completions",
    Dialect.MESSAGES: "/v1/messages",
    Dialect.COUNT_TOKENS: "/v1/messages/count_tokens",
}
_ROUTES = {
    "/responses": Dialect.RESPONSES,
    "/chat/completions": Dialect.CHAT,
    "/messages": Dialect.MESSAGES,
    "/messages/count_tokens": Dialect.COUNT_TOKENS,
}


def shown(text: str, most: int) -> str:
    """Of a sandbox's text what may stand in messages, journals and on terminals: printable, and bounded."""
    return "".join(char if char.isprintable() else "?" for char in text[:most])


def route(method: str, path: str) -> Dialect | None:
    """The dialect of a request line (path without query), with or without `/v1`; None if it leads nowhere."""
    return _ROUTES.get(path.removeprefix("/v1")) if method == "POST" else None


def final_status(provider: Provider) -> int:
    """The status after which that provider's CLI does not try again."""
    return 400 if provider == "openai" else 410


class Refusal(Exception):  # noqa: N818 - it is an answer, not a fault
    """A request that policy stops. `what` goes into the tally (`cap: tokens`), the message to the agent."""

    def __init__(self, what: str, why: str, *, status: int | None = None) -> None:
        self.what = what
        self.message = f"{POLICY_PREFIX} {why}; {NO_RETRY}"
        self.status = status
        """None: the dialect's final status."""
        super().__init__(self.message)


def error_json(provider: Provider, message: str, *, code: str, status: int) -> dict[str, Any]:
    """An error object in the provider's own format."""
    if provider == "anthropic":
        kinds = {401: "authentication_error", 403: "permission_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "invalid_request_error"), "message": message}}
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": code}}
