"""The initial skill on the selection split: what every candidate has to beat, measured once a run."""

from __future__ import annotations

from collections.abc import Mapping

from daemon.journal.journal import Journal
from daemon.journal.records import AttemptRecord, Decision
from daemon.optimizer.decision import BaselineDecision
from daemon.optimizer.gates.measure import Measured, measured
from daemon.optimizer.step import Tools
from daemon.rollouts.progress import PhaseStarted
from daemon.rollouts.stop import RunStopped
from harnesses.outcome import POLICIES, Outcome
from skills_repo.skill import Skill


async def measure_baseline(
    tools: Tools, journal: Journal, skill: Skill, fingerprint: Mapping[str, str]
) -> tuple[Measured, float]:
    """The figures and the score to beat, read back if they stand; raises `RunStopped` if too little is valid."""
    found = await journal.find_decision(tools.run_id, 0, "baseline")
    if found is not None:
        figures = BaselineDecision.model_validate(found.payload).measured
        return figures, figures.score or 0.0
    tools.observer.notify(PhaseStarted(0, "baseline", f"{len(tools.selection.tasks)} selection tasks"))
    results = await tools.selection.results(skill)
    figures = measured(results, tools.selection.rule)
    if figures.score is None or not tools.selection.rule.enough(figures.n, figures.of):
        failures = ", ".join(sorted({_failure(result.record) for result in results if not result.valid}))
        msg = f"only {figures.n} of {figures.of} selection tasks could be measured: {failures}"
        raise RunStopped(msg)
    decision = BaselineDecision(
        when=tools.clock(), base_digest=skill.digest, measured=figures, fingerprint=dict(fingerprint)
    )
    await journal.save_decision(Decision(tools.run_id, 0, "baseline", decision.payload()))
    return figures, figures.score


def _failure(record: AttemptRecord) -> str:
    """An invalid attempt in words: what, why, and what to do."""
    parts = [record.outcome, " ".join(record.detail.split()), POLICIES[Outcome(record.outcome)].remedy]
    return ": ".join(part for part in parts if part)
