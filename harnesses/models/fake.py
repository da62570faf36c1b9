"""A model that a test writes: requests in, replies out, everything kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harnesses.models.client import ModelReply, ModelRequest
from sandboxes.gateway.policy import Price, ProviderError, Usage, priced
from sandboxes.gateway.usage import estimated_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    Script = Callable[[ModelRequest], str | ModelReply | ProviderError]


class ScriptedModel:
    """A `ModelClient` whose replies a function gives; it may also give a whole `ModelReply`, or an error to raise."""

    def __init__(self, script: Script, *, model: str = "scripted", price: Price | None = None) -> None:
        self.requests: list[ModelRequest] = []
        """In the order asked."""
        self.closed = False
        self._script = script
        self._model = model
        self._price = price

    @property
    def provider(self) -> str:
        """As `ModelClient.provider`."""
        return "fake"

    @property
    def model(self) -> str:
        """As `ModelClient.model`."""
        return self._model

    async def complete(self, request: ModelRequest) -> ModelReply:
        """As `ModelClient.complete`; token counts are a quarter of the characters."""
        self.requests.append(request)
        said = self._script(request)
        if isinstance(said, ProviderError):
            raise said
        if isinstance(said, ModelReply):
            return said
        asked = estimated_tokens(len(request.system) + sum(len(turn.content) for turn in request.messages))
        usage = Usage(1, asked, 0, estimated_tokens(len(said)), None)
        return ModelReply(said, priced(usage, self._price), "end", self._model)

    async def close(self) -> None:
        """As `ModelClient.close`."""
        self.closed = True
