"""One canary through the target and one to the optimizer, before anything is paid for.

Invariant: a provider that is unreachable, refuses the key, lacks the model or only answers with errors ends the verb
within seconds, in one line that names provider and key, and no score is ever recorded for it.
"""

from __future__ import annotations

import asyncio
import shutil
import uuid
from dataclasses import replace
from pathlib import Path

from daemon.rollouts.stop import RunStopped
from harnesses.harness import Assignment, Harness
from harnesses.models.client import ChatMessage, ModelClient, ModelRequest
from harnesses.outcome import POLICIES
from sandboxes.gateway.policy import Upstream

_PROMPT = "This is a check that the set-up works. Reply with the single word OK."
_DEADLINE_S = 120.0
_TRIES, _RETRY_S, _TIMEOUT_S = 2, 3.0, 60.0


def impatient(upstream: Upstream) -> Upstream:
    """The same provider with bounds fit for a check: seconds, not minutes."""
    return replace(
        upstream,
        tries=min(upstream.tries, _TRIES),
        retry_s=min(upstream.retry_s, _RETRY_S),
        timeout_s=min(upstream.timeout_s, _TIMEOUT_S),
    )


async def check_target(harness: Harness, attempts: Path) -> None:
    """Run one tiny attempt without a skill; raises `RunStopped` unless its outcome could be scored."""
    attempt_id = f"canary-{uuid.uuid4().hex[:12]}"
    folder = attempts / attempt_id
    await asyncio.to_thread(folder.mkdir, parents=True)
    try:
        attempt = await harness.run(
            Assignment(attempt_id=attempt_id, task_id="canary", prompt=_PROMPT, folder=folder, deadline_s=_DEADLINE_S)
        )
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    policy = POLICIES[attempt.outcome]
    if not policy.scored:
        model = harness.settings().get("model", "")
        parts = [attempt.detail]
        # A provider's failure names itself and its remedy: each is said once.
        if attempt.outcome.replace("_", " ") not in attempt.detail:
            parts.insert(0, attempt.outcome)
        if policy.remedy.replace("[target] ", "") not in attempt.detail:
            parts.append(policy.remedy)
        raise RunStopped(": ".join([f"[target] {harness.name} with {model}", *parts]), attempt.outcome)


async def check_optimizer(client: ModelClient) -> None:
    """One tiny completion; raises `ProviderError`."""
    await client.complete(
        ModelRequest(system="", messages=(ChatMessage("user", _PROMPT),), schema=None, max_output_tokens=64)
    )
