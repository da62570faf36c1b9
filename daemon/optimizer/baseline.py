"""The initial skill on the selection split: what every candidate has to beat, measured before the first step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from daemon.journal.journal import Journal
from daemon.journal.records import AttemptRecord, Decision
from daemon.optimizer.decision import BaselineDecision
from daemon.optimizer.gates.verdict import Pool
from daemon.optimizer.tools import Tools
from daemon.rollouts.progress import PhaseStarted
from daemon.rollouts.stop import RunStopped
from harnesses.outcome import POLICIES, Outcome
from skills_repo.skill import Skill


async def measure_baseline(
    tools: Tools, journal: Journal, skill: Skill, fingerprint: Mapping[str, str]
) -> BaselineDecision:
    """The figures to beat, read back if they stand; raises `RunStopped` if too little is valid."""
    found = await journal.find_decision(tools.run_id, 0, "baseline")
    if found is not None:
        return BaselineDecision.model_validate(found.payload)
    figures, pool = None, Pool()
    if tools.knobs.train.gate != "off":
        tools.observer.notify(PhaseStarted(0, "baseline", f"{len(tools.selection.tasks)} selection tasks"))
        figures, pool = await tools.gate.measure(skill, tools.selection)
        if figures.score is None or not tools.selection.rule.enough(figures.n, figures.of):
            reasons = _failures(await journal.attempts(tools.run_id), {task.id for task in tools.selection.tasks})
            msg = f"only {figures.n} of {figures.of} selection tasks could be measured: {reasons}"
            raise RunStopped(msg)
    decision = BaselineDecision(
        when=tools.clock(), base_digest=skill.digest, measured=figures, pool=pool, fingerprint=dict(fingerprint)
    )
    await journal.save_decision(Decision(tools.run_id, 0, "baseline", decision.payload()))
    return decision


def _failures(attempts: Sequence[AttemptRecord], tasks: Set[str]) -> str:
    """Why attempts of these tasks have no score, as it is journaled: nothing is attempted again to say so."""
    return ", ".join(sorted({_failure(one) for one in attempts if one.score is None and one.task_id in tasks}))


def _failure(record: AttemptRecord) -> str:
    """An invalid attempt in words: what, why, and what to do."""
    parts = [record.outcome, " ".join(record.detail.split()), POLICIES[Outcome(record.outcome)].remedy]
    return ": ".join(part for part in parts if part)
