"""The simulated optimizer model: every role is answered from the prompt alone, with seeded noise.

The noise is drawn from the prompt, so the same prompt gets the same reply in any order and after any restart. It
never sees the configuration: a mechanism helps only by what it puts into a prompt or does with a reply.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from harnesses.models.client import ModelReply, ModelRequest
from sandboxes.gateway.policy import Usage
from tests.worlds import roles_edits, roles_longview, roles_rewrites
from tests.worlds.lore import Lore
from tests.worlds.mind import Habits, Mind
from tests.worlds.reading import Reading


@dataclass
class SimulatedOptimizer:
    """A `ModelClient` that knows the lore of a world, not its truth."""

    lore: Lore
    seed: int = 0
    habits: Habits = field(default_factory=Habits)
    chaos: random.Random | None = None
    """Where given, replies come in random order."""
    provider: str = "fakeprovider"
    model: str = "world-optimizer"
    asked: Counter[str] = field(default_factory=Counter)
    """Requests by role."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """One reply."""
        for _ in range(self.chaos.randrange(8) if self.chaos else 1):
            await asyncio.sleep(0)
        role = request.schema_name
        self.asked[role] += 1
        shown = json.dumps([asdict(message) for message in request.messages])
        digest = hashlib.blake2b(f"{self.seed}/{role}/{shown}".encode(), digest_size=8).hexdigest()
        mind = Mind(self.lore, self.habits, Reading(request), random.Random(digest))
        text = "I would rather not." if mind.rng.random() < self.habits.garbage else json.dumps(ROLES[role](mind))
        return ModelReply(text, Usage(1, len(shown) // 4, 0, len(text) // 4, 0.01), "end", self.model)

    async def close(self) -> None:
        """Nothing to close."""


_ROLES = (
    roles_edits.reflect_failures,
    roles_edits.reflect_successes,
    roles_edits.merge,
    roles_edits.rank,
    roles_edits.learning_rate,
    roles_edits.repair,
    roles_rewrites.suggest_failures,
    roles_rewrites.suggest_successes,
    roles_rewrites.merge_suggestions,
    roles_rewrites.rewrite,
    roles_rewrites.rewrite_failures,
    roles_rewrites.rewrite_successes,
    roles_rewrites.merge_rewrites,
    roles_rewrites.repair_body,
    roles_longview.slow_update,
    roles_longview.meta_skill,
)
ROLES: Mapping[str, Callable[[Mind], dict[str, Any]]] = {role.__name__: role for role in _ROLES}
