"""The meta skill: the optimizer's notes to itself, rewritten at the end of an epoch from the second one on.

They go in front of later reflect, merge and rank prompts, and never to the agent (SkillOpt, optimizer state). An epoch
that yields no usable notes keeps the earlier ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daemon.optimizer.decision import MetaSkillDecision, SlowUpdateDecision, StepDecision
from daemon.optimizer.prompts.render import render
from daemon.optimizer.proposals import shown
from daemon.optimizer.replies import MetaSkillReply
from daemon.optimizer.state import State
from daemon.optimizer.tools import Tools
from daemon.rollouts.progress import PhaseStarted

MAX_CHARS = 4_000
"""Of the notes."""


async def rewrite(
    tools: Tools, state: State, *, step: int, epoch: int, sampled: int = 0, counts: Mapping[str, int] | None = None
) -> MetaSkillDecision:
    """Ask for the notes of the epoch that ends with `step`; raises `RunStopped` if the provider fails.

    `counts`: how many of the `sampled` tasks each group of the slow update's comparison has, if there was one.
    """
    tools.observer.notify(PhaseStarted(step, "meta_skill", f"notes on epoch {epoch}"))
    answer = await tools.optimizer.ask(
        f"{step}/meta_skill/0",
        "meta_skill",
        MetaSkillReply,
        system=render("meta_skill.system.j2", limit=MAX_CHARS),
        user=render(
            "meta_skill.user.j2",
            skill=state.skill.text,
            notes=state.meta_skill,
            epoch=epoch,
            steps=epoch_rows(state, epoch),
            sampled=sampled,
            counts=counts or {},
        ),
    )
    content, notes = state.meta_skill, [answer.error] if answer.error else []
    if answer.reply is not None:
        written = answer.reply.notes.strip()[:MAX_CHARS].strip()
        refused = tools.refusals.notes(written, state.skill) if written else "they are empty"
        if refused:
            notes.append(f"the new notes were refused, the earlier ones stay: {refused}")
        else:
            content = written
    return MetaSkillDecision(step=step, epoch=epoch, content=content, notes=tuple(notes), optimizer_usage=answer.usage)


def epoch_rows(state: State, epoch: int) -> Sequence[dict[str, Any]]:
    """What the slow update before the epoch and each of its steps tried, and what came of it."""
    slow = [one for one in state.slow_updates if one.epoch == epoch - 1]
    steps = [one for one in state.steps if one.epoch == epoch]
    return [*map(_row, slow), *map(_row, steps)]


def _row(decision: StepDecision | SlowUpdateDecision) -> dict[str, Any]:
    verdict = decision.verdict
    row: dict[str, Any] = {
        "step": decision.step,
        "kind": "step" if isinstance(decision, StepDecision) else "slow update",
        "outcome": decision.outcome.replace("_", " "),
        "failures": [pattern.type for pattern in decision.patterns],
        "edits": [{key: value for key, value in shown(edit).items() if key != "evidence"} for edit in decision.applied],
    }
    if verdict is not None and verdict.before is not None and verdict.after is not None:
        row |= {"before": round(verdict.before, 3), "after": round(verdict.after, 3)}
        row |= {"tasks": verdict.n, "fixed": len(verdict.fixed), "broken": len(verdict.broken)}
    return row
