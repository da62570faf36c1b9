"""The worlds themselves: what they say is true is true, the same everywhere, and hidden from what is under test."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest

from harnesses.models.client import ChatMessage, ModelRequest
from tests.worlds.lore import Cause, Lore, Rule, disregard, in_force, said
from tests.worlds.make import make_idle_world, make_world
from tests.worlds.mind import Habits
from tests.worlds.optimizer import SimulatedOptimizer
from tests.worlds.runs import SKILL, run_world
from tests.worlds.world import SURE, Case, Length, World, kind

HELP = Rule("dates-a0", "verify", 0.5)
IDLE = Rule("dates-a1", "verify", 0.5)
HARM = Rule("dates-a2", "assume", 0.5)


def small(length: Length | None = None) -> World:
    lore = Lore((Cause("dates-a"), Cause("sums-a")), (HELP, IDLE, HARM))
    cases = (
        Case("train-000", "train", "dates", causes=(("dates-a", 0.3),)),
        Case("test-000", "test", "dates", causes=(("dates-a", 0.3),)),
        Case("test-001", "test", "sums", luck=0.5),
    )
    return World(
        1, lore, cases, {"dates-a0": "dates-a"}, {"dates-a2": 0.5}, {"dates-a1": "dates-a0"}, length or Length(cost=0)
    )


def skill_with(*rules: Rule, more: str = "") -> str:
    return SKILL.text + "".join(f"{rule.line}\n" for rule in rules) + more


@pytest.mark.parametrize(
    ("rules", "chance"),
    [
        ((), 0.3),
        ((HELP,), SURE),
        ((IDLE,), 0.3),
        ((HARM,), 0.15),
        ((HELP, HARM), SURE / 2),
        ((HELP, IDLE), (SURE + 0.3) / 2),
        ((HELP, HELP), SURE),
    ],
    ids=["none", "helpful", "useless", "harmful", "both", "contradicted", "twice"],
)
def test_rules_do_what_the_world_says(rules: tuple[Rule, ...], chance: float) -> None:
    assert small().probability(skill_with(*rules), "train-000") == pytest.approx(chance)


def test_a_rule_works_in_its_own_area_alone() -> None:
    assert small().probability(skill_with(HARM), "test-001") == pytest.approx(0.5)


def test_a_line_can_take_a_rule_out_of_force() -> None:
    text = skill_with(HELP, HARM, more="\n".join(disregard([HARM.id])))
    assert said(text) == (HELP.id, HARM.id)
    assert in_force(text) == {HELP.id}
    assert small().probability(text, "train-000") == pytest.approx(SURE)


def test_every_bit_of_length_over_what_is_free_costs_a_little() -> None:
    world = small(Length(free=len(SKILL.text), every=100, cost=0.1))
    assert world.probability(SKILL.text, "test-001") == pytest.approx(0.5)
    assert world.probability(SKILL.text + "x" * 100, "test-001") == pytest.approx(0.45)
    assert world.probability(SKILL.text + "x" * 200, "test-001") == pytest.approx(0.40)


def test_the_true_score_is_what_many_attempts_come_to() -> None:
    world = make_world(3)
    helpful = [rule for rule in world.lore.rules if kind(world, rule) == "helpful"]
    skill = SKILL.with_text(skill_with(*helpful[:6]))
    tests = [case.id for case in world.cases if case.split == "test"]
    solved = [world.attempt(skill.text, task, trial).solved for task in tests for trial in range(300)]
    assert statistics.fmean(solved) == pytest.approx(world.true_score(skill, "test"), abs=0.01)
    assert world.true_score(skill, "test") > world.true_score(SKILL, "test") + 0.1


def test_an_attempt_comes_out_the_same_whenever_it_is_asked_for_and_new_for_each_trial_and_text() -> None:
    first, second = make_world(5), make_world(5)
    keys = [(case.id, trial) for case in first.cases for trial in range(3)]
    forward = {key: first.attempt(SKILL.text, *key) for key in keys}
    backward = {key: second.attempt(SKILL.text, *key) for key in reversed(keys)}
    assert forward == backward
    other = {key: first.attempt(SKILL.text + "\n", *key) for key in keys}
    changed = sum(forward[key].solved != other[key].solved for key in keys)
    assert 0 < changed < len(keys) / 2


def test_tasks_tell_nothing_of_the_truth() -> None:
    world = make_world(1)
    shown = " ".join(task.prompt for task in world.tasks().tasks)
    assert not said(shown)
    assert not any(cause.id in shown for cause in world.lore.causes)


def test_in_an_idle_world_no_rule_changes_anything() -> None:
    world = make_idle_world(2)
    everything = SKILL.with_text(skill_with(*world.lore.rules[:40]))
    for split in ("train", "selection", "test"):
        assert world.true_score(everything, split) == pytest.approx(world.true_score(SKILL, split))
    lucks = Counter(case.luck for case in world.cases if case.split == "selection")
    assert lucks[1.0] == 10
    assert lucks[0.0] == 7


async def test_the_model_gives_the_same_reply_to_the_same_prompt_and_knows_no_more_than_it_shows() -> None:
    world = make_world(1)
    task = '<attempt task="t-1" verdict="failed" score="0.00">\nTask: Do piece 1 of the work on dates.\n{}\n</attempt>'
    head = "<current_skill>\n# demo\n</current_skill>\n<edit_budget>2</edit_budget>\n"

    async def reply(body: str) -> str:
        request = ModelRequest("s", (ChatMessage("user", head + task.format(body)),), {}, "reflect_failures")
        return (await SimulatedOptimizer(world.lore, 4, Habits(garbage=0, guesses=0)).complete(request)).text

    told = await reply("It went wrong at dates-a.")
    assert told == await reply("It went wrong at dates-a.")
    assert {rule[:-1] for rule in said(told)} == {"dates-a"}
    assert not said(await reply("All is well."))


def test_a_run_in_a_rich_world_learns_something_true() -> None:
    outcome = run_world(make_world(2))
    assert outcome.true_after > outcome.true_before + 0.05
    assert outcome.report.accepted > 0
    assert outcome.report.rejected > 0
