"""Update modes in tests: an optimizer over a script, a context, and proposals as reflection hands them on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from daemon.journal.memory import MemoryJournal
from daemon.journal.records import RunRecord
from daemon.optimizer.asking import Optimizer
from daemon.optimizer.batches import Minibatch
from daemon.optimizer.memory import StepBuffer
from daemon.optimizer.proposals import Patch, Source
from daemon.optimizer.reflect import Reflection, Reflector
from daemon.optimizer.updates.learning_rate import LearningRate
from daemon.optimizer.updates.mode import Proposal, UpdateContext, UpdateMode
from daemon.optimizer.updates.reask import Repaired, repaired
from harnesses.models.client import ModelClient
from skills_repo.edits import Applied, Edit, EditLimits, Op, apply
from skills_repo.skill import Skill
from tests.support.optimizer import Replier, ScriptedOptimizer, make_result, make_skill, sensible


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


@dataclass(frozen=True)
class Driven:
    """One update from reflection to apply, as a step drives it."""

    found: Reflection
    proposal: Proposal
    mended: Repaired
    applied: Applied
    client: ScriptedOptimizer

    @property
    def notes(self) -> tuple[str, ...]:
        """All that was said on the way."""
        return (*self.found.errors, *self.found.notes, *self.proposal.notes, *self.mended.notes)


CUT = (
    Minibatch(solved=False, results=(make_result("t1", 0.0), make_result("t2", 0.0)), place="0"),
    Minibatch(solved=False, results=(make_result("t3", 0.0),), place="1"),
    Minibatch(solved=True, results=(make_result("t4", 1.0),), place="2"),
)


async def drive(mode: UpdateMode, reply: Replier, skill: Skill, *, budget: int | None = None) -> Driven:
    """Reflect on three minibatches, propose, send back what misses, apply."""
    rate = None if budget is None else LearningRate(1, budget, 9)
    context, client = await context_for(reply, skill=skill, limits=EditLimits(budget), learning_rate=rate, step=1)
    reflector = Reflector(context.optimizer, skill, context.buffer, mode.budget(budget), context.step, form=mode.form)
    found = await reflector.reflect(CUT)
    proposal = await mode.propose(found.patches, context)
    limits = mode.limits(context.limits)
    mended = await repaired(context.optimizer, skill, proposal.chosen, limits, "1/repair/0", refuse=context.refuse)
    return Driven(found, proposal, mended, apply(skill, mended.edits, limits), client)
