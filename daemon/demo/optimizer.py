"""The simulated optimizer: reads the prompts of patch mode and answers as a model would, in valid JSON.

It is a pure function of the prompt. It finds failure types in what the agent did, and has ideas about them, some of
them bad (`daemon.demo.ideas`): sorting them is the gate's work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from daemon.demo.diagnosis import failures_of, is_text_task
from daemon.demo.ideas import FAILURES, HABITS_KEPT, Failure, Idea
from daemon.optimizer.replies import (
    MergedEdit,
    MergeReply,
    MetaSkillReply,
    Pattern,
    ProposedEdit,
    RankReply,
    ReflectReply,
    RepairReply,
    SlowUpdateReply,
)

_ATTEMPT = re.compile(r'<attempt task="([^"]*)" verdict="([^"]*)" score="([^"]*)">\n(.*?)</attempt>', re.DOTALL)
_GUIDANCE = "Where a task failed before, read the result once more before you finish."
"""Well meant, and without effect on the simulated agent."""
_UNLIMITED = 64
_ENOUGH_SUCCESSES = 3
"""Fewer successes than this are no pattern."""


def is_optimizer_prompt(prompt: str) -> bool:
    """The prompt is one of the optimizer's, not a task."""
    return "<current_skill>" in prompt


def answer(prompt: str, schema_name: str = "") -> str:
    """The reply to an optimizer prompt, as JSON text. `schema_name` may say the phase; the prompt's sections do too."""
    if schema_name == "repair":
        return RepairReply(reasoning="No better place is known.", edits=[]).model_dump_json()
    if schema_name == "rank" or "\n<edits>" in prompt:
        return _rank(prompt).model_dump_json()
    if schema_name == "merge" or "\n<patches>" in prompt:
        return _merge(prompt).model_dump_json()
    if schema_name == "slow_update" or "\n<present_guidance>" in prompt:
        guidance = _section(prompt, "present_guidance").strip() or _GUIDANCE
        return SlowUpdateReply(reasoning="Some tasks fail time and again.", guidance=guidance).model_dump_json()
    if schema_name == "meta_skill" or "\n<present_notes>" in prompt:
        return MetaSkillReply(reasoning="r", notes="Edits that name a check hold up; haste does not.").model_dump_json()
    attempts = tuple(Attempted(*found) for found in _ATTEMPT.findall(prompt))
    solved = schema_name == "reflect_successes" if schema_name.startswith("reflect") else _all_solved(attempts)
    desk = _Desk.read(prompt)
    reply = _reflect_successes(desk, attempts) if solved else _reflect_failures(desk, attempts)
    return reply.model_dump_json()


@dataclass(frozen=True)
class Attempted:
    """One attempt as the prompt shows it."""

    task: str
    verdict: str
    score: str
    text: str


@dataclass(frozen=True)
class _Desk:
    """What else is on the optimizer's desk: the skill, the budget, and what was tried in vain."""

    skill: str
    budget: int
    rejected: frozenset[str]

    @classmethod
    def read(cls, prompt: str) -> _Desk:
        earlier = _section(prompt, "earlier_steps")
        rejected = {str(edit.get("content", "")) for edit in _json_objects(earlier) if "op" in edit}
        return cls(_section(prompt, "current_skill"), _budget(prompt), frozenset(rejected))

    def open_idea(self, failure: Failure) -> Idea | None:
        """The first idea about a failure that is neither in the skill nor rejected."""
        for idea in failure.ideas:
            if idea.content not in self.skill and idea.content not in self.rejected:
                return idea
        return None

    def edit(self, idea: Idea, evidence: Sequence[str], *, instead_of: Sequence[Idea] = ()) -> ProposedEdit:
        """The idea as an edit of the current skill: its anchor if that is unique there, else at the end."""
        op, target = idea.op, idea.anchor
        for other in instead_of:
            if other != idea and self.skill.count(other.content) == 1:
                op, target = "replace", other.content
        if self.skill.count(target) != 1:
            return _proposed("append", "", idea, evidence)
        return _proposed(op, target, idea, evidence)


def _proposed(op: Any, target: str, idea: Idea, evidence: Sequence[str]) -> ProposedEdit:
    return ProposedEdit(op=op, target=target, content=idea.content, rationale=idea.rationale, evidence=sorted(evidence))


def _all_solved(attempts: Sequence[Attempted]) -> bool:
    return all(attempt.verdict == "solved" for attempt in attempts)


def _reflect_failures(desk: _Desk, attempts: Sequence[Attempted]) -> ReflectReply:
    seen = {failure: [a.task for a in attempts if failure in failures_of(a.text)] for failure in FAILURES}
    patterns = [
        Pattern(type=failure.name, count=len(tasks), description=failure.description)
        for failure, tasks in seen.items()
        if tasks
    ]
    found = [(failure, desk.open_idea(failure)) for failure, tasks in seen.items() if tasks]
    ideas = [(failure, idea) for failure, idea in found if idea is not None]
    if ideas and ideas[0][1].bold:
        ideas = ideas[:1]
    else:
        ideas = [(failure, idea) for failure, idea in ideas if not idea.bold][: desk.budget]
    edits = [desk.edit(idea, seen[failure], instead_of=failure.ideas) for failure, idea in ideas]
    reasoning = "These causes are seen in what the agent did." if edits else "No cause seen that the skill could mend."
    return ReflectReply(patterns=patterns, reasoning=reasoning, edits=edits)


def _reflect_successes(desk: _Desk, attempts: Sequence[Attempted]) -> ReflectReply:
    idea = HABITS_KEPT["text" if any(is_text_task(a.text) for a in attempts) else "spreadsheets"]
    if len(attempts) < _ENOUGH_SUCCESSES or idea.content in desk.skill or idea.content in desk.rejected:
        return ReflectReply(patterns=[], reasoning="Nothing that the skill does not say already.", edits=[])
    tasks = [attempt.task for attempt in attempts]
    pattern = Pattern(type="careful work", count=len(tasks), description=idea.rationale)
    return ReflectReply(patterns=[pattern], reasoning="All of them worked alike.", edits=[desk.edit(idea, tasks)])


def _merge(prompt: str) -> MergeReply:
    patches = json.loads(_section(prompt, "patches") or "[]")
    patches.sort(key=lambda patch: patch.get("source") == "successes")  # stable: failures first
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for edit in (edit for patch in patches for edit in patch["edits"]):
        place = (edit["target"], edit["content"])
        row = merged.setdefault(place, {**edit, "support": 0, "evidence": []})
        row["support"] += edit.get("support", 1)
        row["evidence"] = sorted({*row["evidence"], *edit["evidence"]})
    edits = [MergedEdit.model_validate(row) for row in merged.values()]
    return MergeReply(reasoning="The same rules, said once.", edits=edits)


def _rank(prompt: str) -> RankReply:
    edits = json.loads(_section(prompt, "edits") or "[]")
    habits = {idea.content for idea in HABITS_KEPT.values()}
    order = sorted(range(len(edits)), key=lambda i: (edits[i]["content"] in habits, -edits[i].get("support", 1), i))
    chosen = order[: _budget(prompt)]
    return RankReply(reasoning="What mends failures goes first.", selected=chosen)


def _budget(prompt: str) -> int:
    """The most edits that are asked for; many where there is no budget."""
    found = _section(prompt, "edit_budget").strip()
    return int(found) if found.isdigit() else _UNLIMITED if found else 1


def _section(prompt: str, name: str) -> str:
    found = re.search(rf"<{name}>\n?(.*?)\n?</{name}>", prompt, re.DOTALL)
    return found[1] if found else ""


def _json_objects(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("{"):
            value = json.loads(line)
            if isinstance(value, dict):
                yield value
