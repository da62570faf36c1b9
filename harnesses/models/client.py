"""The `ModelClient` protocol: one request, one reply, or a `ProviderError` with a name."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from harnesses.episode import Tool
from sandboxes.gateway.policy import Usage


@dataclass(frozen=True)
class Image:
    """A picture that a model is shown."""

    media_type: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`."""
    data: bytes = field(repr=False)

    @property
    def base64(self) -> str:
        """The bytes as both protocols carry them."""
        return b64encode(self.data).decode("ascii")


@dataclass(frozen=True)
class ToolUse:
    """A tool call that a model made: hostile data."""

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    """None: what it gave is no JSON object (see `raw`)."""
    raw: str = ""
    """The arguments as they came, where the protocol carries text."""


@dataclass(frozen=True)
class ToolAnswer:
    """What a tool call came to, for the model."""

    id: str
    """Of the `ToolUse`."""
    text: str
    ok: bool = True


@dataclass(frozen=True)
class ChatMessage:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    content: str
    stable: int = 0
    """How many characters of `content`, from its beginning, other requests will share with this one (along with all
    that comes before): a hint for the provider's prompt cache, which changes nothing of what the model reads."""
    images: tuple[Image, ...] = ()
    """Shown before the text."""
    calls: tuple[ToolUse, ...] = ()
    """Of an assistant's turn."""
    answers: tuple[ToolAnswer, ...] = ()
    """Of a user's turn: one for each call of the turn before, which stand instead of `content`."""


@dataclass(frozen=True)
class ModelRequest:
    """What to ask."""

    system: str
    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any] | None = None
    """A JSON schema that the reply's text must satisfy (asked for natively where the provider can, checked by us)."""
    schema_name: str = "reply"
    max_output_tokens: int = 8192
    temperature: float | None = None
    seed: int | None = None
    tools: tuple[Tool, ...] = ()
    """What the model may call; not together with `schema`."""


@dataclass(frozen=True)
class ModelReply:
    """What came back."""

    text: str
    usage: Usage
    stop: Literal["end", "length", "refusal", "other"]
    model: str
    calls: tuple[ToolUse, ...] = ()
    """In order; only where tools were offered."""


class ModelClient(Protocol):
    """A model behind a provider."""

    @property
    def provider(self) -> str:
        """`openai`, `anthropic`, or a fake's name."""

    @property
    def model(self) -> str:
        """The model's name."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One completion; raises `sandboxes.gateway.policy.ProviderError` after bounded retries."""

    async def close(self) -> None:
        """Give connections back."""
