"""The simulated optimizer reads the real prompts and answers what the reply schemas take."""

from __future__ import annotations

import json
from typing import Any

from daemon.demo.demo_set import DemoSet
from daemon.demo.ideas import FORMAT_AS_IS, FORMULA, GAP, KEYS, SHEET
from daemon.demo.optimizer import answer, is_optimizer_prompt
from daemon.optimizer.memory import EarlierStep
from daemon.optimizer.prompts.render import render
from daemon.optimizer.replies import MergeReply, RankReply, ReflectReply
from skills_repo.skill import Skill
from tests.support.demo import FIRST_SHEET, RULES, DemoWorkshop, skill_of, taught


def prompt(
    workshop: DemoWorkshop, skill: Skill, ids: list[str], *, rejected: tuple[str, ...] = (), budget: int = 2
) -> str:
    """A reflection prompt over what the target really did."""
    attempts: list[dict[str, Any]] = []
    for task_id in ids:
        task = workshop.tasks[task_id]
        work = workshop.attempt(task, skill)
        shown = "\n".join(f"  {line}" for line in work.command.splitlines())
        printed = "\n".join(f"  > {line}" for line in work.printed.splitlines())
        attempts.append(
            {
                "task": task_id,
                "verdict": "solved" if work.solved else "failed",
                "score": work.value,
                "prompt": task.prompt,
                "feedback": work.feedback,
                "skill_unread": False,
                "summary": f"1. tool shell [ok]:\n{shown}\n{printed}\nfinal answer:\n  {work.answer}",
                "final_answer": "",
            }
        )
    tried = tuple({"op": "insert_after", "target": "x", "content": content} for content in rejected)
    earlier = (EarlierStep(1, "rejected", 0.5, 0.25, tried, (), tasks=8),)
    return render(
        "reflect.user.j2", skill=skill.text, budget=budget, earlier=earlier if rejected else (), attempts=attempts
    )


def failures(text: str) -> ReflectReply:
    return ReflectReply.model_validate_json(answer(text, "reflect_failures"))


def group(workshop: DemoWorkshop, name: str, split: str = "train") -> list[str]:
    return [task.id for task in workshop.tasks.values() if task.split == split and task.group == name]


def test_causes_are_read_from_what_the_agent_did(demo: DemoSet, workshop: DemoWorkshop) -> None:
    naive = skill_of(demo)
    for name, failure in (("formula", FORMULA), ("gap", GAP), ("keys", KEYS), ("sheet", SHEET)):
        ids = group(workshop, name)
        reply = failures(prompt(workshop, naive, ids))
        assert [(pattern.type, pattern.count) for pattern in reply.patterns] == [(failure.name, len(ids))]
        assert [edit.content for edit in reply.edits] == [failure.ideas[0].content]
        assert reply.edits[0].evidence == ids


def test_edits_stay_within_the_budget_and_apply(demo: DemoSet, workshop: DemoWorkshop) -> None:
    naive = skill_of(demo)
    ids = [*group(workshop, "keys"), *group(workshop, "gap"), *group(workshop, "formula")]
    for budget, expected in ((1, [FORMULA]), (2, [FORMULA, GAP]), (3, [FORMULA, GAP, KEYS])):
        reply = failures(prompt(workshop, naive, ids, budget=budget))
        assert [edit.content for edit in reply.edits] == [failure.ideas[0].content for failure in expected]
        for edit in reply.edits:
            assert naive.text.count(edit.target) == 1


def test_a_rule_that_the_skill_holds_is_not_proposed_again(demo: DemoSet, workshop: DemoWorkshop) -> None:
    skill = taught(skill_of(demo), RULES["keys"])
    reply = failures(prompt(workshop, skill, group(workshop, "abbreviation", "selection")))
    assert [pattern.type for pattern in reply.patterns] == [KEYS.name]
    assert reply.edits == []


def test_the_bold_idea_goes_alone_and_gives_way_once_rejected(demo: DemoSet, workshop: DemoWorkshop) -> None:
    skill = taught(skill_of(demo), RULES["formula"], RULES["gap"])
    ids = [*group(workshop, "sheet"), *group(workshop, "keys")]
    first = failures(prompt(workshop, skill, ids))
    assert [edit.content for edit in first.edits] == [FIRST_SHEET.content]
    second = failures(prompt(workshop, skill, ids, rejected=(FIRST_SHEET.content,)))
    assert [edit.content for edit in second.edits] == [RULES["sheet"].content, RULES["keys"].content]


def test_a_harmful_rule_that_got_in_is_replaced(demo: DemoSet, workshop: DemoWorkshop) -> None:
    skill = taught(skill_of(demo), FIRST_SHEET)
    (edit,) = failures(prompt(workshop, skill, group(workshop, "sheet"))).edits
    assert (edit.op, edit.target, edit.content) == ("replace", FIRST_SHEET.content, RULES["sheet"].content)


def test_a_missing_anchor_makes_an_append(demo: DemoSet, workshop: DemoWorkshop) -> None:
    skill = skill_of(demo)
    skill = skill.with_text(skill.text.replace(GAP.ideas[0].anchor, "- Do as told."))
    (edit,) = failures(prompt(workshop, skill, group(workshop, "gap"))).edits
    assert (edit.op, edit.target) == ("append", "")


def test_successes_suggest_a_habit_once_there_are_enough(demo: DemoSet, workshop: DemoWorkshop) -> None:
    skill = taught(skill_of(demo), *RULES.values())
    ids = [*group(workshop, "gap"), *group(workshop, "plain")][:3]

    def contents(text: str) -> list[str]:
        reply = ReflectReply.model_validate_json(answer(text, "reflect_successes"))
        return [edit.content for edit in reply.edits]

    assert contents(prompt(workshop, skill, ids)) == [FORMAT_AS_IS.content]
    assert contents(prompt(workshop, skill, ids[:2])) == []
    assert contents(prompt(workshop, skill, ids, rejected=(FORMAT_AS_IS.content,))) == []
    assert contents(prompt(workshop, taught(skill, FORMAT_AS_IS), ids)) == []


def test_merging_unites_equal_edits_and_puts_failures_first() -> None:
    one = {"op": "append", "target": "", "content": "- a", "rationale": "r", "support": 1, "evidence": ["t2"]}
    two = {**one, "support": 2, "evidence": ["t1"]}
    other = {**one, "content": "- b"}
    patches = [{"source": "successes", "edits": [other]}, {"source": "failures", "edits": [one, two]}]
    text = render("merge.user.j2", skill="s", budget=2, patches=patches)
    reply = MergeReply.model_validate_json(answer(text, "merge"))
    assert [(edit.content, edit.support, edit.evidence) for edit in reply.edits] == [
        ("- a", 3, ["t1", "t2"]),
        ("- b", 1, ["t2"]),
    ]


def test_ranking_keeps_what_mends_failures() -> None:
    row = {"op": "append", "target": "", "rationale": "r", "evidence": [], "support": 1}
    edits = [{**row, "content": content} for content in (FORMAT_AS_IS.content, "- a", "- b")]
    text = render("rank.user.j2", skill="s", budget=2, edits=edits)
    assert RankReply.model_validate_json(answer(text, "rank")).selected == [1, 2]


def test_the_phase_is_seen_without_a_schema_name(demo: DemoSet, workshop: DemoWorkshop) -> None:
    """Anthropic's wire carries no schema name."""
    naive, full = skill_of(demo), taught(skill_of(demo), *RULES.values())
    failed = prompt(workshop, naive, group(workshop, "gap"))
    solved = prompt(workshop, full, group(workshop, "gap"))
    assert answer(failed) == answer(failed, "reflect_failures")
    assert answer(solved) == answer(solved, "reflect_successes")
    merge = render("merge.user.j2", skill="s", budget=1, patches=[])
    assert json.loads(answer(merge)) == json.loads(answer(merge, "merge"))
    rank = render("rank.user.j2", skill="s", budget=1, edits=[])
    assert json.loads(answer(rank)) == json.loads(answer(rank, "rank"))


def test_it_is_a_pure_function_of_the_prompt(demo: DemoSet, workshop: DemoWorkshop) -> None:
    text = prompt(workshop, skill_of(demo), [task.id for task in workshop.tasks.values() if task.split == "train"])
    assert is_optimizer_prompt(text)
    assert not is_optimizer_prompt(workshop.tasks["train-01"].prompt)
    assert len({answer(text, "reflect_failures") for _ in range(3)}) == 1
