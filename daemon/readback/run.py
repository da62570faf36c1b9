"""One run, whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter

from daemon.budget.capped import STEP_BEGAN
from daemon.budget.totals import seconds
from daemon.journal.journal import Journal
from daemon.journal.records import AttemptRow, Decision, ReplyRecord, RunRecord
from daemon.optimizer.decision import BaselineDecision, MetaSkillDecision, SlowUpdateDecision, StepDecision
from daemon.optimizer.opening import FOLLOWED
from daemon.optimizer.people import PEOPLE, TakenBack
from daemon.optimizer.reporting import REPORT
from daemon.readback.costs import Cost, costs
from skills_repo.followed import Followed

M = TypeVar("M", bound=BaseModel)

_OWN = frozenset(
    {"baseline", "step", "commits", "slow_update", "slow_update_commits", "meta_skill", "test_reserved", "final"}
    | {STEP_BEGAN, PEOPLE, FOLLOWED, REPORT}
)
"""Kinds of decisions that have a place of their own; all others are told as they are."""


def lenient(model: type[M], payload: Mapping[str, Any]) -> M:
    """A decision as it was written, by an older or a newer honed too: what this one does not know is left out."""
    return model.model_validate(dict(payload), extra="ignore")


@dataclass(frozen=True)
class RunView:
    """What the journal knows of a run."""

    run: RunRecord
    baseline: BaselineDecision | None
    steps: tuple[StepDecision, ...]
    commits: Mapping[int, tuple[str, ...]]
    """By step, oldest first."""
    slow_updates: tuple[SlowUpdateDecision, ...]
    slow_commits: Mapping[int, tuple[str, ...]]
    meta_skills: tuple[MetaSkillDecision, ...]
    followed: Followed | None
    """What led the branch to the run's base, if a person changed the skill on HEAD."""
    turned_down: tuple[TakenBack, ...]
    """Edits that people had turned down when it began."""
    others: tuple[Decision, ...]
    """Whatever else was decided, in order."""
    test_reserved: bool
    final: Mapping[str, Any] | None
    """The sealed test's figures: `before` and `after`."""
    attempts: tuple[AttemptRow, ...]
    replies: tuple[ReplyRecord, ...]
    decisions: tuple[Decision, ...]
    costs: tuple[Cost, ...]
    wall_s: float
    """Of all processes that worked on it; 0 for a run of an older honed."""
    processes: int

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """What decides the run, by part; empty before the baseline."""
        return self.baseline.fingerprint if self.baseline else {}

    def step(self, number: int) -> StepDecision | None:
        """One step's decision."""
        return next((step for step in self.steps if step.step == number), None)


async def read_run(journal: Journal, run: RunRecord) -> RunView:
    """Everything about a run."""
    decisions = await journal.decisions(run.run_id)
    attempts = await journal.attempt_rows(run_id=run.run_id)
    replies = await journal.replies(run.run_id)
    spans = await journal.spans(run_id=run.run_id)
    baseline = [d for d in decisions if d.kind == "baseline"]
    final = [d for d in decisions if d.kind == "final"]
    return RunView(
        run=run,
        baseline=lenient(BaselineDecision, baseline[0].payload) if baseline else None,
        steps=tuple(lenient(StepDecision, d.payload) for d in decisions if d.kind == "step"),
        commits=_commits(decisions, "commits"),
        slow_updates=tuple(lenient(SlowUpdateDecision, d.payload) for d in decisions if d.kind == "slow_update"),
        slow_commits=_commits(decisions, "slow_update_commits"),
        meta_skills=tuple(lenient(MetaSkillDecision, d.payload) for d in decisions if d.kind == "meta_skill"),
        followed=_followed(decisions),
        turned_down=_turned_down(decisions),
        others=tuple(d for d in decisions if d.kind not in _OWN),
        test_reserved=any(d.kind == "test_reserved" for d in decisions),
        final=final[0].payload if final else None,
        attempts=attempts,
        replies=replies,
        decisions=decisions,
        costs=costs(decisions, attempts, replies),
        wall_s=seconds(spans),
        processes=len(spans),
    )


def _followed(decisions: Iterable[Decision]) -> Followed | None:
    found = [d.payload for d in decisions if d.kind == FOLLOWED]
    return TypeAdapter(Followed).validate_python(found[0], extra="ignore") if found else None


def _turned_down(decisions: Iterable[Decision]) -> tuple[TakenBack, ...]:
    rows = (row for d in decisions if d.kind == PEOPLE for row in d.payload.get("taken_back", ()))
    return tuple(lenient(TakenBack, row) for row in rows)


def _commits(decisions: Iterable[Decision], kind: str) -> Mapping[int, tuple[str, ...]]:
    return {d.step: tuple(d.payload.get("commits", ())) for d in decisions if d.kind == kind}
