"""The slow update: at the end of an epoch, from the second one on, guidance for the guarded region of SKILL.md.

The same sampled train tasks under the skill of the epoch before and the present one show what no single batch can:
what improved, regressed, fails time and again (SkillOpt, epoch-level slow update). Its candidate passes the gate like
any other, unless the configuration forces it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.optimizer.attempts import shown
from daemon.optimizer.decision import GROUPS, Group, RefusedEdit, SlowUpdateDecision, StepOutcome
from daemon.optimizer.gates.rule import Pair, valid_pairs
from daemon.optimizer.gates.verdict import Verdict
from daemon.optimizer.prompts.render import render
from daemon.optimizer.replies import SlowUpdateReply
from daemon.optimizer.spending import Spending
from daemon.optimizer.state import State
from daemon.optimizer.tools import EndedError, Tools
from daemon.rollouts.parallel import ordered
from daemon.rollouts.progress import PhaseStarted
from daemon.rollouts.result import TaskResult
from skills_repo import guarded
from skills_repo.edits import Applied, Edit, Op, apply


@dataclass(frozen=True)
class Comparison:
    """The sampled tasks under both skills."""

    sampled: tuple[str, ...]
    pairs: Mapping[Group, tuple[Pair, ...]]
    results: tuple[TaskResult, ...] = ()
    """Of both skills, each attempt once."""

    @property
    def counts(self) -> dict[str, int]:
        """How many tasks each group has."""
        return {group: len(self.pairs[group]) for group in GROUPS}

    def ids(self, group: Group) -> tuple[str, ...]:
        """The group's tasks, by id."""
        return tuple(now.task_id for _, now in self.pairs[group])


async def compare(tools: Tools, state: State, epoch: int) -> Comparison:
    """Attempt the epoch's sample under the skill an epoch ago and the present one, both at once."""
    train = tools.knobs.train
    ids = sorted(tools.train)
    picker = random.Random(f"{train.seed}/slow_update/{epoch}")  # noqa: S311 - reproducible on purpose
    sampled = tuple(sorted(picker.sample(ids, min(train.slow_update_samples, len(ids)))))
    tasks = [tools.train[task_id] for task_id in sampled]
    skills = {skill.digest: skill for skill in (state.ends[-1], state.skill)}  # one alone, if nothing changed
    found = await ordered(tools.rollouts.score(skill, tasks, run_id=tools.run_id) for skill in skills.values())
    before, now = found[0], found[-1]
    pairs: dict[Group, list[Pair]] = {group: [] for group in GROUPS}
    for pair in valid_pairs(before, now):
        pairs[_group(pair)].append(pair)
    results = tuple(result for some in found for result in some)
    return Comparison(sampled, {group: tuple(found) for group, found in pairs.items()}, results)


def _group(pair: Pair) -> Group:
    match pair[0].solved, pair[1].solved:
        case False, True:
            return "improved"
        case True, False:
            return "regressed"
        case False, False:
            return "persistent_failure"
    return "stable_success"


@dataclass
class SlowUpdate:
    """One slow update in the making."""

    tools: Tools
    state: State
    step: int
    """The epoch's last step: where its decision stands."""
    epoch: int
    comparison: Comparison

    def __post_init__(self) -> None:
        self._found: dict[str, Any] = {}
        self._spending = Spending()
        self._spending.add(self.comparison.results)
        self._forced = self.tools.knobs.train.slow_update == "forced"

    async def run(self) -> SlowUpdateDecision:
        """Ask for guidance, write it, judge it; raises `RunStopped` if a provider or an engine is beyond help."""
        try:
            edit = await self._guidance()
            candidate = self._apply(edit)
            verdict = await self._gate(candidate)
        except EndedError as ended:
            return self._decide(ended.outcome, ended.reason)
        if self._forced and verdict.ruling != "accepted":
            return self._decide(
                "accepted", f"forced, as configured; the gate's own ruling is {verdict.ruling}: {verdict.rule}"
            )
        return self._decide(verdict.ruling, verdict.rule)

    def _decide(self, outcome: StepOutcome, reason: str) -> SlowUpdateDecision:
        of = self.comparison
        return SlowUpdateDecision(
            step=self.step,
            epoch=self.epoch,
            when=self.tools.clock(),
            outcome=outcome,
            reason=reason,
            base_digest=self.state.skill.digest,
            sampled=of.sampled,
            improved=of.ids("improved"),
            regressed=of.ids("regressed"),
            persistent_failure=of.ids("persistent_failure"),
            stable_success=of.ids("stable_success"),
            forced=self._forced,
            attempts=self._spending.attempts,
            target_usage=self._spending.usage,
            **self._found,
        )

    async def _guidance(self) -> Edit:
        counts = self.comparison.counts
        if not sum(counts.values()):
            raise EndedError(
                "no_valid_attempts", f"none of {len(self.comparison.sampled)} sampled tasks is valid twice"
            )
        if counts["stable_success"] == sum(counts.values()):
            raise EndedError("nothing_to_learn", f"all {counts['stable_success']} sampled tasks are solved under both")
        self._say("slow_update", f"{len(self.comparison.sampled)} train tasks compared")
        skill = self.state.skill
        system, user = prompts(self.tools, self.state, self.comparison)
        answer = await self.tools.optimizer.ask(
            f"{self.step}/slow_update/0", "slow_update", SlowUpdateReply, system=system, user=user
        )
        self._found["optimizer_usage"] = answer.usage
        if answer.reply is None:
            self._found["notes"] = (answer.error,)
            raise EndedError("optimizer_error", f"no guidance could be used: {answer.error}")
        content = answer.reply.guidance.strip()
        if content == guarded.read(skill.text).strip():
            raise EndedError("no_change", "the optimizer leaves the guidance as it is")
        asked = (*self.comparison.ids("regressed"), *self.comparison.ids("persistent_failure"))
        why = self.tools.refusals.remark(answer.reply.reasoning, skill)
        edit = Edit(Op.SLOW_UPDATE, content=content, rationale=why, evidence=tuple(sorted(asked)))
        if reason := self.tools.refusals.guidance(content, skill):
            self._found["refused"] = (RefusedEdit(edit=edit, reason=reason),)
            raise EndedError("no_change", f"the guidance was refused: {reason}")
        self._found["chosen"] = (edit,)
        return edit

    def _apply(self, edit: Edit) -> Applied:
        candidate = apply(self.state.skill, [edit], self.tools.knobs.slow_update_limits)
        self._found |= {"report": candidate.report.rows, "candidate_digest": candidate.result.digest}
        if not candidate.stages:
            [row] = candidate.report.rows
            raise EndedError("no_change", f"the guidance cannot be written: {row.status} {row.detail}".strip())
        if reason := self.tools.refusals.candidate(self.state.skill, candidate.result, self.state.rejected):
            raise EndedError("no_change", reason)
        self._found["flagged"] = self.tools.knobs.risks.flags(self.state.skill, candidate.result)
        return candidate

    async def _gate(self, candidate: Applied) -> Verdict:
        self._say("gate", "the guidance")
        base, selection = self.state.current, self.tools.selection
        selection.begin()
        verdict = await self.tools.gate.judge(base.skill, candidate.result, selection, base.pool)
        self._found["verdict"] = verdict
        self._spending.add(selection.used((base.skill.digest, base.pool.trials)))
        return verdict

    def _say(self, phase: str, detail: str) -> None:
        self.tools.observer.notify(PhaseStarted(self.step, phase, detail))


def prompts(tools: Tools, state: State, comparison: Comparison) -> tuple[str, str]:
    """System and user prompt."""
    return render("slow_update.system.j2", limit=tools.knobs.slow_update_limits.max_guarded_chars), render(
        "slow_update.user.j2",
        skill=state.skill.text,
        guidance=guarded.read(state.skill.text),
        earlier=state.ends[-1].text,
        sampled=len(comparison.sampled),
        counts=comparison.counts,
        attempts=_attempts(tools, comparison, state.skill.text),
    )


def _attempts(tools: Tools, comparison: Comparison, skill: str) -> Sequence[dict[str, Any]]:
    """Both attempts where the outcome changed, the present one where it failed twice; stable successes say little."""
    chosen: list[tuple[Group, str, TaskResult]] = []
    for group in GROUPS[:3]:
        for before, now in comparison.pairs[group]:
            if group != "persistent_failure":
                chosen.append((group, "an epoch ago", before))
            chosen.append((group, "now", now))
    rows = shown(
        [result for _, _, result in chosen],
        tools.knobs.train.trace_tokens,
        skill=skill,
        outgoing=tools.firewall.outgoing,
    )
    return [{"group": group, "under": under, **row} for (group, under, _), row in zip(chosen, rows, strict=True)]
