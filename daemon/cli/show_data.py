"""A run and a step as data, for `honed show --json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from daemon.optimizer.scoring_run import trains
from daemon.readback.costs import Cost, by_phase, of_step
from daemon.training.following import followed_data
from sandboxes.gateway.policy import Usage

if TYPE_CHECKING:
    from daemon.journal.records import ReplyRecord
    from daemon.readback.run import RunView
    from daemon.readback.step import BatchRow, StepView


def run_data(view: RunView) -> dict[str, Any]:
    """A whole run; steps without their details."""
    run = view.run
    total = sum_of(view.costs)
    return {
        "run": run.run_id,
        "kind": "train" if trains(run) else run.fingerprint,
        "skill": run.skill,
        "state": run.state,
        "base_commit": run.base_commit,
        "started": run.started,
        "fingerprint": {"digest": run.fingerprint, "parts": dict(view.fingerprint)},
        "baseline": view.baseline.payload() if view.baseline else None,
        "steps": [_step_row(view, step.step) for step in view.steps],
        "slow_updates": [
            {**update.payload(), "commits": list(view.slow_commits.get(update.step, ()))}
            for update in view.slow_updates
        ],
        "meta_skills": [notes.payload() for notes in view.meta_skills],
        "followed": followed_data(view.followed),
        "turned_down": [one.model_dump(mode="json", exclude={"changes"}) for one in view.turned_down],
        "others": [{"step": d.step, "kind": d.kind, **d.payload} for d in view.others],
        "test": {"reserved": view.test_reserved, **_figures(view)},
        "costs": {"total": cost_data(total), "phases": [cost_data(cost) for cost in by_phase(view.costs)]},
        "wall_s": round(view.wall_s, 2),
        "processes": view.processes,
    }


def _figures(view: RunView) -> dict[str, Any]:
    """The report's figures of the sealed test, and nothing by task."""
    final = view.final or {}
    return {name: final.get(name) for name in ("before", "after")}


def _step_row(view: RunView, number: int) -> dict[str, Any]:
    step = view.step(number)
    assert step is not None
    verdict = step.verdict
    return {
        "step": step.step,
        "epoch": step.epoch,
        "outcome": step.outcome,
        "reason": step.reason,
        "budget": step.budget,
        "proposed": len(step.proposed),
        "chosen": len(step.chosen),
        "applied": len(step.applied),
        "before": verdict.before if verdict else None,
        "after": verdict.after if verdict else None,
        "commits": list(view.commits.get(step.step, ())),
        "cost": cost_data(of_step(view.costs, step.step)),
    }


def step_data(run: RunView, view: StepView) -> dict[str, Any]:
    """A whole step, with every field of its decision as it was written."""
    number = view.decision.step
    return {
        "run": run.run.run_id,
        "decision": next(dict(d.payload) for d in run.decisions if (d.kind, d.step) == ("step", number)),
        "commits": list(view.commits),
        "batch": [_batch(row) for row in view.batch],
        "reflections": [{"tasks": list(one.tasks), **_reply(one.reply)} for one in view.reflections],
        "merges": [_reply(reply) for reply in view.merges],
        "ranking": [_reply(reply) for reply in view.ranking],
        "other_replies": [_reply(reply) for reply in view.others],
        "buffer": [asdict(entry) for entry in view.buffer],
        "cost": cost_data(view.cost),
        "costs": [cost_data(cost) for cost in run.costs if cost.step == number],
    }


def _batch(row: BatchRow) -> dict[str, Any]:
    record = row.row.record if row.row else None
    return {
        "batch": row.batch,
        "task": row.task,
        "attempt": record.attempt_id if record else None,
        "outcome": record.outcome if record else None,
        "score": record.score if record else None,
        "solved": record.hard if record else None,
        "reused": row.reused,
    }


def _reply(reply: ReplyRecord) -> dict[str, Any]:
    row = reply.reply
    kept = {name: row.get(name) for name in ("reply", "error", "usage")}
    return {"place": reply.place, "prompt_digest": reply.prompt_digest, **kept}


def cost_data(cost: Cost) -> dict[str, Any]:
    """Attempts, tokens and money; `usd` is null where a price is not known."""
    return {
        "phase": cost.phase,
        "attempts": cost.attempts,
        "invalid": cost.invalid,
        "requests": cost.usage.requests,
        "tokens": cost.usage.tokens,
        "usd": cost.usage.usd,
    }


def sum_of(costs: tuple[Cost, ...]) -> Cost:
    """All of them."""
    attempts, invalid = sum(cost.attempts for cost in costs), sum(cost.invalid for cost in costs)
    return Cost(0, "all", attempts, invalid, sum((cost.usage for cost in costs), Usage()))
