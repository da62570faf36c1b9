"""Leave one edit out: what each carries, what is dropped, and what it may cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from daemon.optimizer.gates.attribution import Attribution, attribute
from daemon.optimizer.gates.paired import PairedGate
from daemon.optimizer.gates.verdict import Pool, Verdict
from daemon.tasks.task import Task
from skills_repo.edits import Edit, EditLimits, Op, apply
from skills_repo.skill import Skill
from tests.support.gates import ScriptedSelection, selection_tasks
from tests.support.optimizer import make_skill

LIMITS = EditLimits(8, 20_000, 4_000)
N = 12


class RuleSelection(ScriptedSelection):
    """A task is solved if the skill's text holds its rule; tasks 0 to 3 always are."""

    def __init__(self, rules: Mapping[str, Sequence[int]]) -> None:
        super().__init__(selection_tasks(N))
        self._rules = rules
        self.results_given = 0

    def score(self, skill: Skill, trial: int, task: Task) -> float | None:
        self.results_given += 1
        number = int(task.id[1:])
        return float(number < 4 or any(number in ids for rule, ids in self._rules.items() if rule in skill.text))


def append(line: str) -> Edit:
    return Edit(Op.APPEND, content=f"- {line}", rationale="why")


async def weigh(rules: Mapping[str, Sequence[int]], *lines: str) -> tuple[Attribution, RuleSelection]:
    selection = RuleSelection(rules)
    base, gate = make_skill(), PairedGate()
    applied = apply(base, [append(line) for line in lines], LIMITS)
    verdict = await gate.judge(base, applied.result, selection, Pool(0, 6))
    assert verdict.ruling == "accepted"
    return await attribute(gate.judge, base, applied, verdict, selection, limits=LIMITS), selection


async def test_an_edit_that_carries_nothing_is_dropped() -> None:
    found, _ = await weigh({"rule-a": [4, 5, 6], "rule-b": [7, 8]}, "rule-a", "idle", "rule-b")
    assert found.dropped == (1,)
    assert [edit.content for edit in found.applied.report.applied] == ["- rule-a", "- rule-b"]
    assert "idle" not in found.applied.result.text
    assert list(found.shares) == pytest.approx([3 / N, 2 / N])
    assert found.verdict.ruling == "accepted"
    assert "1 of 3 edits carry nothing" in found.reason


async def test_each_edit_that_carries_something_stays_with_its_share() -> None:
    found, _ = await weigh({"rule-a": [4, 5, 6], "rule-b": [7, 8]}, "rule-a", "rule-b")
    assert found.dropped == ()
    assert list(found.shares) == pytest.approx([3 / N, 2 / N])


async def test_two_edits_that_do_the_same_are_not_both_dropped() -> None:
    """Without either the other still does it: one goes, and the other carries it all."""
    found, _ = await weigh({"twin": [4, 5, 6, 7]}, "twin one", "twin two")
    assert found.dropped == (0,)
    assert list(found.shares) == pytest.approx([4 / N])
    assert [edit.content for edit in found.applied.report.applied] == ["- twin two"]


async def test_of_two_edits_that_say_the_same_one_stays() -> None:
    """Each alone looks idle beside the other: without both, four tasks would be lost."""
    found, _ = await weigh({"twin": [4, 5, 6, 7], "rule-b": [8]}, "twin one", "twin two", "rule-b")
    assert found.dropped == (0,)
    assert [edit.content for edit in found.applied.report.applied] == ["- twin two", "- rule-b"]
    assert list(found.shares) == pytest.approx([4 / N, 1 / N])


async def test_what_is_left_must_be_accepted_or_nothing_is_dropped() -> None:
    selection = RuleSelection({"rule-a": [4, 5, 6], "rule-b": [7, 8]})
    base, gate = make_skill(), PairedGate()
    applied = apply(base, [append("rule-a"), append("idle"), append("rule-b")], LIMITS)
    verdict = await gate.judge(base, applied.result, selection, Pool(0, 6))

    async def refuse(*_: object) -> Verdict:
        return replace(verdict, ruling="rejected", rule="chance")

    found = await attribute(refuse, base, applied, verdict, selection, limits=LIMITS)
    assert found.dropped == ()
    assert found.applied == applied
    assert found.verdict == verdict
    assert "without that the skill does not hold: chance" in found.reason


async def test_a_single_edit_costs_nothing() -> None:
    found, selection = await weigh({"rule-a": [4, 5, 6]}, "rule-a")
    asked = selection.results_given
    assert (found.shares, found.dropped, found.attempts) == ((), (), 0)
    assert selection.results_given == asked


async def test_it_costs_a_bounded_number_of_attempts() -> None:
    found, _ = await weigh({"rule-a": [4, 5, 6], "rule-b": [7, 8]}, "rule-a", "rule-b")
    assert found.attempts <= 2 * 2 * (N - 4), "two edits, two trials, and only the tasks that changed or might have"


async def test_an_edit_takes_those_with_it_that_hang_on_its_text() -> None:
    selection = RuleSelection({"rule-a": [4, 5, 6], "rule-b": [7, 8]})
    base, gate = make_skill(), PairedGate()
    applied = apply(base, [append("rule-a"), Edit(Op.INSERT_AFTER, "- rule-a", "- rule-b")], LIMITS)
    assert len(applied.stages) == 2
    verdict = await gate.judge(base, applied.result, selection, Pool(0, 6))
    found = await attribute(gate.judge, base, applied, verdict, selection, limits=LIMITS)
    assert list(found.shares) == pytest.approx([5 / N, 2 / N])
    assert found.dropped == ()
