"""Makes the client for an upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harnesses.models.anthropic_client import AnthropicClient
from harnesses.models.openai_client import OpenAIClient

if TYPE_CHECKING:
    from harnesses.models.client import ModelClient
    from harnesses.models.retry import Patience
    from sandboxes.gateway.policy import Price, Upstream


def make_client(
    upstream: Upstream, model: str, price: Price | None = None, *, patience: Patience | None = None
) -> ModelClient:
    """A client for the upstream's provider. `close()` it when done. `patience` is for tests."""
    kind = AnthropicClient if upstream.provider == "anthropic" else OpenAIClient
    return kind(upstream, model, price, patience=patience)
