"""Makes the client for an upstream. Each SDK takes a second to import, so only the one that is used is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harnesses.models.client import ModelClient
    from harnesses.models.retry import Patience
    from sandboxes.gateway.policy import Price, Upstream


def make_client(
    upstream: Upstream, model: str, price: Price | None = None, *, patience: Patience | None = None
) -> ModelClient:
    """A client for the upstream's provider. `close()` it when done. `patience` is for tests."""
    if upstream.provider == "anthropic":
        from harnesses.models.anthropic_client import AnthropicClient  # noqa: PLC0415 - see above

        return AnthropicClient(upstream, model, price, patience=patience)
    from harnesses.models.openai_client import OpenAIClient  # noqa: PLC0415 - see above

    return OpenAIClient(upstream, model, price, patience=patience)
