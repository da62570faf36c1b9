"""From an accepted decision to commits: one an edit, all of a step's together, once however often it is asked for.

Where a run was told to start from another skill than the repository's, the first accepted decision commits that start
in front of its edits, in the same move of the branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from daemon.optimizer.decision import Judged, SlowUpdateDecision, StepDecision
from daemon.optimizer.risks import RiskRules
from daemon.optimizer.spending import cost_of
from daemon.redaction import redact
from skills_repo.convention import DEFAULT, Convention
from skills_repo.edits import Applied, Edit, Op
from skills_repo.history import EditCommit, SkillHistory
from skills_repo.message import EditNote, GateFigures, compose
from skills_repo.skill import Skill


@dataclass(frozen=True)
class Committer:
    """Writes the accepted edits of one run."""

    history: SkillHistory
    run_id: str
    gate: str
    """The gate's name, for the trailer: `paired/hard` and the like."""
    target: str
    """`<harness> <version> / <model>`, for the trailer."""
    optimizer: str
    selection: int = 0
    """Tasks of the selection split."""
    convention: Convention = DEFAULT
    """How the repository words its commits."""
    risks: RiskRules = field(default_factory=RiskRules)

    async def commit(
        self, parent: str, base: Skill, decision: Judged, candidate: Applied, *, start: Skill | None = None
    ) -> tuple[str, ...]:
        """The decision's commits, oldest first; made now unless they stand already.

        `start`: the given skill that the branch does not hold yet, to be committed in front. Raises `RefMovedError`
        if somebody else moved the branch away from `parent`.
        """
        if found := await self.find(decision):
            return found
        changes = self.changes(base, decision, candidate, start=start)
        made = await self.history.commit_edits(parent, changes, decision.when)
        return made[1:] if start else made

    def changes(
        self, base: Skill, decision: Judged, candidate: Applied, *, start: Skill | None = None
    ) -> tuple[EditCommit, ...]:
        """A judged candidate as commits, accepted or not; the given start in front, where there is one."""
        return (*([self._start(start)] if start else []), *self._changes(base, decision, candidate))

    async def find(self, decision: Judged) -> tuple[str, ...]:
        """The decision's commits as they stand on the branch, oldest first; empty if they are not made yet."""
        return await self.history.find_step(self.run_id, decision.step, phase_of(decision))

    def _start(self, skill: Skill) -> EditCommit:
        rationale = "The configuration starts this run from a given skill; the commits above it are honed's edits."
        edit = Edit(Op.REWRITE, content="start from the given skill", rationale=rationale)
        figures = GateFigures(rule="given")
        note = EditNote(
            self.run_id, 0, 1, 1, skill.name, skill.digest, edit, figures, self.target, self.optimizer, phase="initial"
        )
        return EditCommit(skill, compose(note, self.convention))

    def _changes(self, base: Skill, decision: Judged, candidate: Applied) -> Sequence[EditCommit]:
        before = base
        changes: list[EditCommit] = []
        edits = candidate.report.applied
        shares = decision.shares if isinstance(decision, StepDecision) else ()
        for position, (edit, after) in enumerate(zip(edits, candidate.stages, strict=True), start=1):
            share = shares[position - 1] if len(shares) == len(edits) else None
            note = EditNote(
                run=self.run_id,
                step=decision.step,
                position=position,
                of=len(edits),
                skill=base.name,
                base=before.digest,
                edit=_clean(edit),
                review=self.risks.kinds(before, after),
                gate=replace(self._figures(decision), share=share),
                target=self.target,
                optimizer=self.optimizer,
                failures=tuple(redact(pattern.type) for pattern in decision.patterns),
                phase=phase_of(decision),
                cost=cost_of(decision),
                ruling="rejected" if decision.outcome == "rejected" else "accepted",
            )
            changes.append(EditCommit(after, compose(note, self.convention)))
            before = after
        return changes

    def _figures(self, decision: Judged) -> GateFigures:
        verdict = decision.verdict
        if verdict is None:
            msg = f"step {decision.step} was accepted without a verdict"
            raise ValueError(msg)
        forced = decision.outcome == "accepted" and verdict.ruling != "accepted"
        if forced and verdict.n < self.selection:  # a pass that stopped early is no score of the skill
            return GateFigures(rule=f"{self.gate}/forced")
        # Rows are the tasks that were asked: of a pass that stopped early, the others are no failures of measuring.
        return GateFigures(
            rule=f"{self.gate}/forced" if forced else self.gate,
            tasks=verdict.n,
            trials=max(1, verdict.after_trials),
            before=verdict.before,
            after=verdict.after,
            valid=verdict.n / len(verdict.rows) if verdict.rows else verdict.valid_share,
            standard_error=verdict.standard_error,
        )


def _clean(edit: Edit) -> Edit:
    """The edit as its message words it: a deletion quotes what the skill said."""
    return replace(
        edit,
        target=redact(edit.target),
        content=redact(edit.content),
        rationale=redact(edit.rationale),
        file=redact(edit.file),
    )


def phase_of(decision: Judged) -> str:
    """What the decision's commits belong to (`skills_repo.message.PHASES`)."""
    return "slow_update" if isinstance(decision, SlowUpdateDecision) else "step"
