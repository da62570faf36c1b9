"""A lost journal's runs out of git: what the commits' trailers tell, and nothing else.

Each run is marked as rebuilt and as done: nobody goes on with it. What no commit holds (rejected steps, batches,
attempts, replies, costs) stays lost and is not made up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daemon.journal.records import Decision, RunRecord
from daemon.optimizer.decision import BaselineDecision, Judged, RolloutSummary, SlowUpdateDecision, StepDecision
from daemon.optimizer.gates.measure import Measured
from daemon.optimizer.gates.verdict import Verdict
from daemon.optimizer.opening import COMMITS_OF
from skills_repo.curve import Point, RunCurve, curves, taken_back
from skills_repo.edits import AppliedEdit, EditStatus
from skills_repo.figures import parse_gate
from skills_repo.history import SkillCommit, SkillHistory
from skills_repo.message import PHASES, GateFigures
from skills_repo.recover import failures, recovered_edit
from skills_repo.skill import Skill, SkillError

REBUILT = "rebuilt"
"""The kind of the decision that marks a rebuilt run, and the run's fingerprint."""
LOST = (
    "epochs, batches, budgets, rejected steps, refused edits, notes, attempts, optimizer replies, costs "
    "and what was seen of the sealed test"
)
_NOTE = f"rebuilt from the commits: {LOST} are not in git"


@dataclass(frozen=True)
class RebuiltRun:
    """One run as git tells it."""

    run: RunRecord
    decisions: tuple[Decision, ...]
    """In order of writing."""
    curve: RunCurve


class Rebuilder:
    """Reads one skill's history."""

    def __init__(self, history: SkillHistory, path: str) -> None:
        """`path` is the skill's key in the journal: its path in the repository."""
        self._history = history
        self._path = path
        self._skills: dict[str, Skill | None] = {}

    async def runs(self, most: int) -> tuple[RebuiltRun, ...]:
        """Every run that left commits among the newest `most`, oldest first."""
        commits = await self._history.log(most)
        back = taken_back(commits)
        return tuple([await self._run(curve, back) for curve in curves(commits)])

    async def _run(self, curve: RunCurve, back: Mapping[str, SkillCommit]) -> RebuiltRun:
        first = curve.points[0].commits[0]
        base = first.parents[0] if first.parents else ""
        run = RunRecord(curve.run, REBUILT, self._path, base, "done", first.when)
        decisions = [Decision(curve.run, 0, REBUILT, _mark(curve, back)), *_baseline(curve)]
        for point in curve.points:
            if point.phase in COMMITS_OF:
                decided = await self._decision(point)
                noted = {"commits": [commit.sha for commit in point.commits]}
                decisions.append(Decision(curve.run, point.step, point.phase, decided.payload()))
                decisions.append(Decision(curve.run, point.step, COMMITS_OF[point.phase], noted))
        return RebuiltRun(run, tuple(decisions), curve)

    async def _decision(self, point: Point) -> Judged:
        edits = tuple([await self._edit(commit) for commit in point.commits])
        first, last = point.commits[0], point.commits[-1]
        after = await self._skill(last.sha)
        rule = point.figures.rule if point.figures else "a rule that is not told"
        told = dict.fromkeys(line for commit in point.commits for line in failures(commit))
        fields = {
            "step": point.step,
            "epoch": 0,
            "when": point.when,
            "outcome": "accepted",
            "reason": f"rebuilt from git: accepted by {rule}",
            "base_digest": first.trailers.get("Honed-Base", ""),
            "chosen": tuple(row.edit for row in edits),
            "report": edits,
            "candidate_digest": after.digest if after else "",
            "verdict": _verdict(point.figures),
            "notes": (_NOTE, f"failures that asked for it: {', '.join(told)}") if told else (_NOTE,),
        }
        if point.phase == "slow_update":
            forced = rule.endswith("/forced")
            return SlowUpdateDecision.model_validate({**fields, "forced": forced})
        shares = tuple(share for share in map(_share, point.commits) if share is not None)
        return StepDecision.model_validate(
            {
                **fields,
                "batches": (),
                "rollout": RolloutSummary(),
                "budget": None,
                "proposed": fields["chosen"],
                "shares": shares if len(shares) == len(edits) else (),
            }
        )

    async def _edit(self, commit: SkillCommit) -> AppliedEdit:
        parent = await self._skill(commit.parents[0]) if commit.parents else None
        after = await self._skill(commit.sha)
        return AppliedEdit(recovered_edit(commit, parent, after), EditStatus.APPLIED)

    async def _skill(self, sha: str) -> Skill | None:
        """The skill at a commit; None where a person left it broken."""
        if sha not in self._skills:
            try:
                self._skills[sha] = await self._history.read(sha)
            except SkillError:
                self._skills[sha] = None
        return self._skills[sha]


def _mark(curve: RunCurve, back: Mapping[str, SkillCommit]) -> dict[str, object]:
    commits = [commit for point in curve.points for commit in point.commits]
    known = [point for point in curve.points if point.phase in PHASES]
    return {
        "source": "git",
        "commits": len(commits),
        "given_start": [commit.sha for point in known if point.phase == "initial" for commit in point.commits],
        "target": commits[-1].trailers.get("Honed-Target", ""),
        "optimizer": commits[-1].trailers.get("Honed-Optimizer", ""),
        "reverted": [
            {"commit": commit.sha, "by": back[commit.sha].sha, "reason": back[commit.sha].reason}
            for commit in commits
            if commit.sha in back
        ],
        "lost": LOST,
    }


def _baseline(curve: RunCurve) -> Sequence[Decision]:
    """The score before the first measured decision, where that is a step's: what the baseline was found to be."""
    measured = [(point, point.figures) for point in curve.points if point.figures and point.figures.before is not None]
    if not measured:
        return ()
    point, figures = measured[0]
    found = Measured(score=figures.before, hard=None, soft=None, n=figures.tasks, of=_of(figures))
    commit = point.commits[0]
    parts = {REBUILT: "from git", "target": commit.trailers.get("Honed-Target", "")}
    decision = BaselineDecision(
        when=point.when, base_digest=commit.trailers.get("Honed-Base", ""), measured=found, fingerprint=parts
    )
    return (Decision(curve.run, 0, "baseline", decision.payload()),)


def _verdict(figures: GateFigures | None) -> Verdict | None:
    if figures is None or figures.before is None or figures.after is None:
        return None
    return Verdict(
        ruling="accepted",
        before=figures.before,
        after=figures.after,
        delta=round(figures.after - figures.before, 9),
        n=figures.tasks,
        of=_of(figures),
        fixed=(),
        broken=(),
        rule=f"{figures.rule} (rebuilt from git: which tasks were fixed or broken is not told)",
        standard_error=figures.standard_error,
        after_trials=figures.trials,
        current=figures.after,
    )


def _of(figures: GateFigures) -> int:
    """Tasks asked, from the valid ones and their share."""
    return max(figures.tasks, round(figures.tasks / figures.valid)) if figures.valid > 0 else figures.tasks


def _share(commit: SkillCommit) -> float | None:
    figures = parse_gate(commit.trailers.get("Honed-Gate", ""))
    return figures.share if figures else None
