"""The simulated model makes use of what a prompt shows, and of nothing else: that is what the ablations rest on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from daemon.optimizer.memory import EarlierStep, GroupFigures
from daemon.optimizer.prompts.render import render
from harnesses.models.client import ChatMessage, ModelRequest
from tests.worlds.lore import AREAS, Rule, in_force, said
from tests.worlds.make import make_world
from tests.worlds.mind import Habits
from tests.worlds.optimizer import ROLES, SimulatedOptimizer
from tests.worlds.runs import SKILL
from tests.worlds.world import kind

WORLD = make_world(1)
CAUSE = f"{AREAS[0]}-a"
ANSWERS = WORLD.lore.answers[CAUSE]
PLAIN = Habits(garbage=0, misquotes=0, overlooks=0, forgets=0, guesses=0)


def attempt(task: str, summary: str) -> dict[str, Any]:
    return {
        "task": task,
        "verdict": "failed",
        "score": 0.0,
        "prompt": f"Do piece 3 of the work on {AREAS[0]}.",
        "feedback": "not solved",
        "skill_unread": False,
        "summary": summary,
        "final_answer": "",
    }


async def proposed(
    seed: int, *, budget: int | None = 1, wanted: int = 1, habits: Habits = PLAIN, **shown: Any
) -> list[str]:
    """The rules it proposes after failures at one cause."""
    values = {
        "meta_skill": "",
        "skill": SKILL.text,
        "budget": budget,
        "wish": "",
        "earlier": (),
        "attempts": [attempt(f"t-{i}", f"It went wrong at {CAUSE}.") for i in range(wanted)],
        **shown,
    }
    request = ModelRequest("s", (ChatMessage("user", render("reflect.user.j2", **values)),), {}, "reflect_failures")
    reply = await SimulatedOptimizer(WORLD.lore, seed, habits).complete(request)
    return [rule for edit in json.loads(reply.text)["edits"] for rule in said(edit["content"])]


async def often(times: int = 40, **shown: Any) -> Counter[str]:
    """How often it proposes each rule."""
    return Counter([rule for seed in range(times) for rule in await proposed(seed, **shown)])


def tried(*rules: Rule, before: float = 0.5, after: float = 0.25, groups: Sequence[GroupFigures] = ()) -> EarlierStep:
    rows = tuple({"op": "append", "target": "", "content": rule.line} for rule in rules)
    return EarlierStep(1, "rejected", before, after, rows, (), 24, tuple(groups))


async def test_it_proposes_helpful_useless_and_harmful_rules() -> None:
    blind = [cause.id for cause in WORLD.lore.causes if not cause.deep]
    found = [await often(attempts=[attempt("t-1", f"It went wrong at {cause}.")]) for cause in blind]
    kinds = {kind(WORLD, rule) for rule in WORLD.lore.rules if any(rule.id in rules for rules in found)}
    assert kinds == {"helpful", "useless", "harmful"}


async def test_it_does_not_propose_what_it_is_shown_as_rejected() -> None:
    before = await often()
    [favourite] = [rule for rule in ANSWERS if rule.id == before.most_common(1)[0][0]]
    after = await often(earlier=(tried(favourite),))
    assert favourite.id not in after
    assert sum(after.values()) == sum(before.values())


async def test_it_blames_a_rejected_set_and_not_each_edit_in_it() -> None:
    favourite = max(ANSWERS, key=lambda rule: rule.plausible)
    others = [rule for rule in ANSWERS if rule is not favourite][:3]
    habits = replace(PLAIN, forgets=0.1, trust=0)
    alone = await often(earlier=(tried(favourite),), habits=habits)
    together = await often(earlier=(tried(favourite, *others),), habits=habits)
    assert together[favourite.id] > 2 * alone[favourite.id]


async def test_it_reads_off_the_groups_of_tasks_which_edit_of_a_set_did_harm() -> None:
    favourite = max(ANSWERS, key=lambda rule: rule.plausible)
    other = next(rule for rule in WORLD.lore.rules if rule.area != favourite.area)
    habits = replace(PLAIN, forgets=0.1, trust=0)
    harmed = [GroupFigures(favourite.area, 12, 0.5, 0.0), GroupFigures(other.area, 12, 0.5, 0.5)]
    spared = [GroupFigures(favourite.area, 12, 0.5, 0.5), GroupFigures(other.area, 12, 0.5, 0.0)]
    guilty = await often(earlier=(tried(favourite, other, groups=harmed),), habits=habits)
    innocent = await often(earlier=(tried(favourite, other, groups=spared),), habits=habits)
    untold = await often(earlier=(tried(favourite, other),), habits=habits)
    assert 2 * guilty[favourite.id] < untold[favourite.id] < innocent[favourite.id]


async def test_it_makes_little_of_a_loss_that_may_be_chance() -> None:
    favourite = max(ANSWERS, key=lambda rule: rule.plausible)
    habits = replace(PLAIN, forgets=0.1, trust=0)
    small = await often(earlier=(tried(favourite, after=0.48),), habits=habits)
    large = await often(earlier=(tried(favourite, after=0.38),), habits=habits)
    assert small[favourite.id] > 2 * large[favourite.id]


async def test_it_tries_again_what_came_out_ahead_though_not_by_enough() -> None:
    rule = ANSWERS[0]
    ahead = await often(earlier=(tried(rule, before=0.5, after=0.6),))
    assert ahead[rule.id] > (await often())[rule.id]


async def test_it_does_not_propose_what_the_skill_says_already() -> None:
    there = ANSWERS[0]
    assert there.id not in await often(skill=f"{SKILL.text}{there.line}\n")


async def test_it_fills_the_budget_and_without_one_takes_all_it_can_think_of() -> None:
    assert len(await proposed(1, budget=1)) == 1
    assert len(await proposed(1, budget=None)) == PLAIN.alternatives


async def test_its_own_record_of_kinds_of_rules_turns_its_choice() -> None:
    style, other, *_ = sorted({rule.style for rule in ANSWERS})
    good = await often(
        meta_skill=f"{style} rules: 9 tried, +5.00 points each\n{other} rules: 9 tried, -5.00 points each"
    )
    bad = await often(
        meta_skill=f"{style} rules: 9 tried, -5.00 points each\n{other} rules: 9 tried, +5.00 points each"
    )

    def share(found: Counter[str]) -> float:
        return sum(found[rule.id] for rule in ANSWERS if rule.style == style) / sum(found.values())

    assert share(good) > share(bad) + 0.3


async def test_it_deletes_a_rule_that_attempts_were_led_astray_by() -> None:
    there = ANSWERS[0]
    values = {"skill": f"{SKILL.text}{there.line}\n", "budget": 4, "meta_skill": "", "wish": "", "earlier": ()}
    user = render("reflect.user.j2", attempts=[attempt("t-1", f"Led astray by {there.id}.")], **values)
    request = ModelRequest("s", (ChatMessage("user", user),), {}, "reflect_failures")
    reply = json.loads((await SimulatedOptimizer(WORLD.lore, 1, PLAIN).complete(request)).text)
    assert [(edit["op"], edit["target"]) for edit in reply["edits"]] == [("delete", there.line)]


async def test_a_cause_that_does_not_show_is_not_known_but_guessed_at() -> None:
    blind = [attempt("t-1", "The outcome is wrong, and no step of it looks so.")]
    assert not await often(attempts=blind)


def test_it_has_an_answer_for_every_role() -> None:
    assert {"reflect_failures", "reflect_successes", "merge", "rank"} < ROLES.keys()


GUIDANCE = Habits(garbage=0, noise=0)


def compared(group: str, *, number: int, under: str = "now", verdict: str = "failed") -> dict[str, Any]:
    said = "All is well." if verdict == "solved" else "The outcome is wrong, and no step of it looks so."
    return {**attempt(f"t-{number}", said), "group": group, "under": under, "verdict": verdict, "feedback": ""}


async def guidance(attempts: list[dict[str, Any]], *, skill: str = SKILL.text, present: str = "") -> str:
    """What it writes into the guarded region."""
    counts = {"improved": 0, "regressed": 0, "persistent_failure": 0, "stable_success": 0}
    shown = {"guidance": present, "earlier": SKILL.text, "sampled": 20, "counts": counts, "attempts": attempts}
    request = ModelRequest(
        "s", (ChatMessage("user", render("slow_update.user.j2", skill=skill, **shown)),), {}, "slow_update"
    )
    reply = await SimulatedOptimizer(WORLD.lore, 1, GUIDANCE).complete(request)
    return str(json.loads(reply.text)["guidance"])


async def test_failures_under_both_skills_without_a_visible_cause_show_a_deep_one() -> None:
    one = [compared("persistent_failure", number=1)]
    assert await guidance(one) == ""
    several = await guidance([*one, compared("persistent_failure", number=2)])
    [rule] = said(several)
    assert WORLD.lore.rules
    assert next(r.cause for r in WORLD.lore.rules if r.id == rule) in WORLD.lore.deep_causes(AREAS[0])


async def test_a_rule_that_came_in_while_its_area_got_worse_is_taken_out_of_force() -> None:
    skill = f"{SKILL.text}{ANSWERS[0].line}\n"
    worse = [compared("regressed", number=i, under=u, verdict=v) for i in (1, 2) for u, v in BOTH]
    told = await guidance(worse, skill=skill)
    assert ANSWERS[0].id not in in_force(f"{skill}{told}\n")
    better = [compared("improved", number=i, verdict="solved") for i in (3, 4, 5)]
    assert await guidance([*worse, *better], skill=skill) == ""


BOTH = (("an epoch ago", "solved"), ("now", "failed"))


async def test_guidance_that_nothing_speaks_against_stays() -> None:
    present = ANSWERS[1].line
    assert await guidance([compared("persistent_failure", number=1)], present=present) == present


async def notes(steps: list[dict[str, Any]], present: str = "") -> str:
    shown = {"notes": present, "steps": steps, "counts": {}, "sampled": 0, "skill": SKILL.text, "epoch": 2}
    request = ModelRequest("s", (ChatMessage("user", render("meta_skill.user.j2", **shown)),), {}, "meta_skill")
    return str(json.loads((await SimulatedOptimizer(WORLD.lore, 1, GUIDANCE).complete(request)).text)["notes"])


async def test_its_notes_tell_what_each_style_of_rules_was_worth() -> None:
    rule = ANSWERS[0]
    row = {"step": 1, "kind": "step", "failures": [], "edits": [{"content": rule.line}]}
    steps = [{**row, "outcome": "rejected", "before": 0.5, "after": 0.44}, {**row, "outcome": "no change"}]
    told = await notes(steps, f"{rule.style} rules: 2 tried, +3.00 points each")
    assert told == f"{rule.style} rules: 3 tried, +0.00 points each"
