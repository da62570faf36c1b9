"""A prompt that the model's context cannot hold: it must end under its own name, not as a crash or a dead provider."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pydantic import SecretStr

from harnesses.chat import ChatHarness
from harnesses.harness import Assignment
from harnesses.models.factory import make_client
from sandboxes.gateway.policy import Upstream


async def too_long(address: str) -> str:
    """The outcome of an attempt on a prompt of some 20,000 tokens."""
    client = make_client(Upstream("openai", address, SecretStr("none-needed")), "smollm2-135m-instruct")
    try:
        with tempfile.TemporaryDirectory(prefix="honed-real-model-") as folder:
            prompt = "What is the capital of France? " * 3_000
            assignment = Assignment(attempt_id="long", task_id="long", prompt=prompt, folder=Path(folder))
            attempt = await ChatHarness(client).run(assignment)
    finally:
        await client.close()
    return attempt.outcome.value
