"""Update modes in tests: an optimizer over a script, a context, and proposals as reflection hands them on."""

from __future__ import annotations

from typing import Any

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.optimizer.asking import Optimizer
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.proposals import Patch, Source
from daemon.optimizer.updates.mode import UpdateContext
from harnesses.models.client import ModelClient
from skills_repo.edits import Edit, EditLimits, Op
from skills_repo.skill import Skill
from tests.support.optimizer import Replier, ScriptedOptimizer, make_skill, sensible


async def optimizer_for(client: ModelClient) -> Optimizer:
    """An optimizer within a new run."""
    journal = MemoryJournal()
    await journal.open_run(RunRecord("r1", "f", "demo", "c", "open", 0.0))
    return Optimizer(client, journal, "r1")


async def context_for(
    reply: Replier = sensible, *, skill: Skill | None = None, budget: int | None = 2, **fields: Any
) -> tuple[UpdateContext, ScriptedOptimizer]:
    """A step's context, and the client behind it."""
    client = ScriptedOptimizer(reply)
    made: dict[str, Any] = {
        "optimizer": await optimizer_for(client),
        "skill": skill or make_skill("- keep"),
        "buffer": StepBuffer(1),
        "step": 3,
        "merge_batch": 8,
        "limits": EditLimits(budget),
        **fields,
    }
    return UpdateContext(**made), client


def patch(name: str, source: Source = "failures", **fields: Any) -> Patch:
    """A minibatch's patch with one edit, asked for by task `t-<name>`."""
    return Patch(source, (Edit(Op.APPEND, content=name, evidence=(f"t-{name}",), **fields),), (f"t-{name}",))
