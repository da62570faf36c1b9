"""From an accepted decision to commits: one an edit, all of a step's together, once however often it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from daemon.optimizer.decision import StepDecision
from daemon.optimizer.gates.rule import GateRule
from daemon.redaction import redact
from skills_repo.edits import Applied
from skills_repo.history import EditCommit, SkillHistory
from skills_repo.message import EditNote, GateFigures, compose
from skills_repo.skill import Skill


@dataclass(frozen=True)
class Committer:
    """Writes the accepted edits of one run."""

    history: SkillHistory
    run_id: str
    rule: GateRule
    target: str
    """`<harness> <version> / <model>`, for the trailer."""
    optimizer: str

    async def commit(self, parent: str, base: Skill, decision: StepDecision, candidate: Applied) -> tuple[str, ...]:
        """The step's commits, oldest first; made now unless they stand already.

        Raises `RefMovedError` if somebody else moved the branch away from `parent`.
        """
        found = await self.history.find_step(self.run_id, decision.step)
        if found:
            return found
        return await self.history.commit_edits(parent, self._changes(base, decision, candidate), decision.when)

    def _changes(self, base: Skill, decision: StepDecision, candidate: Applied) -> list[EditCommit]:
        before = base
        changes: list[EditCommit] = []
        edits = candidate.report.applied
        for position, (edit, after) in enumerate(zip(edits, candidate.stages, strict=True), start=1):
            note = EditNote(
                run=self.run_id,
                step=decision.step,
                position=position,
                of=len(edits),
                skill=base.name,
                base=before.digest,
                edit=replace(edit, rationale=redact(edit.rationale)),
                gate=self._figures(decision),
                target=self.target,
                optimizer=self.optimizer,
                failures=tuple(redact(pattern.type) for pattern in decision.patterns),
            )
            changes.append(EditCommit(after, compose(note)))
            before = after
        return changes

    def _figures(self, decision: StepDecision) -> GateFigures:
        verdict = decision.verdict
        if verdict is None or verdict.before is None or verdict.after is None:
            msg = f"step {decision.step} was accepted without figures"
            raise ValueError(msg)
        return GateFigures(
            rule=f"strict/{self.rule.metric}",
            tasks=verdict.n,
            trials=1,
            before=verdict.before,
            after=verdict.after,
            valid=verdict.valid_share,
        )
