"""What each phase of a run cost, from its rows alone.

An attempt belongs to the first decision made after it was planned; within a step, the batch tells rollouts from gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from daemon.journal.records import AttemptRow, Decision, ReplyRecord
from daemon.rollouts.result import usage_of
from sandboxes.gateway.policy import Usage

NO_TIME = "before honed kept times"
OPEN = "not decided yet"
_PHASES = {"final": "sealed test"}


@dataclass(frozen=True)
class Cost:
    """Of one phase of one step."""

    step: int
    """0: outside the steps."""
    phase: str
    attempts: int
    """Finished ones; retries count."""
    invalid: int
    usage: Usage


def costs(
    decisions: Iterable[Decision], attempts: Iterable[AttemptRow], replies: Iterable[ReplyRecord]
) -> tuple[Cost, ...]:
    """One row for each phase of each step, in order of the steps."""
    dated = sorted((d for d in decisions if "when" in d.payload), key=lambda d: (d.payload["when"], d.step))
    found: dict[tuple[int, str], Cost] = {}
    for row in attempts:
        step, phase = place_of(row, dated)
        add = Cost(step, phase, 1, int(row.record.score is None), usage_of(row.record))
        found[step, phase] = _plus(found.get((step, phase)), add)
    for reply in replies:
        step, phase = _place(reply.place)
        add = Cost(step, f"optimizer: {phase}", 0, 0, Usage(**reply.reply["usage"]))
        found[step, add.phase] = _plus(found.get((step, add.phase)), add)
    return tuple(sorted(found.values(), key=lambda cost: (cost.phase == _PHASES["final"], cost.step)))


def by_phase(rows: Iterable[Cost]) -> tuple[Cost, ...]:
    """The same summed over the steps."""
    found: dict[str, Cost] = {}
    for row in rows:
        found[row.phase] = _plus(found.get(row.phase), Cost(0, row.phase, row.attempts, row.invalid, row.usage))
    return tuple(found.values())


def of_step(rows: Iterable[Cost], step: int) -> Cost:
    """One step's own."""
    mine: Cost | None = Cost(step, "all", 0, 0, Usage())
    for row in rows:
        if row.step == step and row.phase not in (OPEN, NO_TIME):
            mine = _plus(mine, row)
    assert mine is not None
    return mine


def place_of(row: AttemptRow, dated: Sequence[Decision]) -> tuple[int, str]:
    """Step and phase that an attempt was made in; `dated` is ordered by time."""
    if row.planned is None:
        return 0, NO_TIME
    decision = next((d for d in dated if d.payload["when"] >= row.planned), None)
    if decision is None:
        return 0, OPEN
    if decision.kind != "step":
        step = decision.step if decision.kind not in ("baseline", "final") else 0
        return step, _PHASES.get(decision.kind, decision.kind.replace("_", " "))
    batch = {task for ids in decision.payload.get("batches", ()) for task in ids}
    return decision.step, "rollouts" if row.record.task_id in batch else "gate"


def _place(place: str) -> tuple[int, str]:
    """Step and phase of a reply's place: `3/merge_failures/0.1` is (3, merge failures)."""
    step, _, rest = place.partition("/")
    return int(step) if step.isdigit() else 0, (rest if step.isdigit() else place).split("/")[0].replace("_", " ")


def _plus(old: Cost | None, new: Cost) -> Cost:
    if old is None:
        return new
    return Cost(old.step, old.phase, old.attempts + new.attempts, old.invalid + new.invalid, old.usage + new.usage)
