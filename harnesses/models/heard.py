"""A model client that tells of each request, as the gateway does for agents."""

from __future__ import annotations

import time
from dataclasses import dataclass

from harnesses.models.client import ModelClient, ModelReply, ModelRequest
from sandboxes.gateway.heard import Answered, Heard
from sandboxes.gateway.policy import ProviderError, Usage


@dataclass(frozen=True)
class HeardClient:
    """A `ModelClient` over another one."""

    client: ModelClient
    heard: Heard

    @property
    def provider(self) -> str:
        """As `ModelClient.provider`."""
        return self.client.provider

    @property
    def model(self) -> str:
        """As `ModelClient.model`."""
        return self.client.model

    async def complete(self, request: ModelRequest) -> ModelReply:
        """As `ModelClient.complete`; told of once, with all its tries."""
        began = time.monotonic()
        outcome, usage = "cut", Usage()
        try:
            reply = await self.client.complete(request)
            outcome, usage = "ok", reply.usage
        except ProviderError as error:
            outcome = error.kind.value
            raise
        finally:
            self.heard(Answered(self.provider, self.model, outcome, time.monotonic() - began, usage))
        return reply

    async def close(self) -> None:
        """As `ModelClient.close`."""
        await self.client.close()
