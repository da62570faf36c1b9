"""Scores move as the rules predict: a rule repairs the tasks that carry its trap, and no others."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from daemon.demo.demo_set import DemoSet
from daemon.demo.ideas import FORMAT_AS_IS
from daemon.demo.tasks import PLANS
from daemon.tasks.task import Split
from skills_repo.skill import Skill
from tests.support.demo import FIRST_SHEET, RULES, DemoWorkshop, skill_of, taught

SPLITS: tuple[Split, ...] = ("train", "selection", "test")


def predicted(split: Split, rules: set[str]) -> set[str]:
    """The tasks all of whose traps are mended by these rules."""
    plans = enumerate(PLANS[split], start=1)
    return {f"{split}-{number:02}" for number, plan in plans if set(plan.traps) <= rules}


@pytest.mark.parametrize(
    ("split", "count"),
    [("selection", 0), ("selection", 1), ("selection", 2), ("selection", 4), ("train", 0), ("train", 4), ("test", 0)],
)
def test_any_set_of_rules_solves_just_the_tasks_it_should(
    demo: DemoSet, workshop: DemoWorkshop, split: Split, count: int
) -> None:
    for rules in itertools.combinations(RULES, count):
        skill = taught(skill_of(demo), *(RULES[rule] for rule in rules))
        assert workshop.solved(split, skill) == predicted(split, set(rules)), rules


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("rule", RULES)
def test_each_rule_moves_selection_and_test(split: Split, rule: str) -> None:
    everything = set(RULES)
    assert predicted(split, everything - {rule}) < predicted(split, everything)
    assert predicted(split, {rule}) > predicted(split, set())


@pytest.mark.parametrize("split", ["selection", "test"])
@pytest.mark.parametrize("known", [(), ("formula", "gap"), ("formula", "gap", "keys")])
def test_the_first_sheet_idea_repairs_some_tasks_and_breaks_more(
    demo: DemoSet, workshop: DemoWorkshop, split: Split, known: tuple[str, ...]
) -> None:
    base = taught(skill_of(demo), *(RULES[rule] for rule in known))
    before, after = workshop.solved(split, base), workshop.solved(split, taught(base, FIRST_SHEET))
    if known:
        assert len(after) < len(before)
    assert before - after
    assert after - before


@pytest.mark.parametrize("text", ["- Write formulas, never values.", "- Always use formulas."])
def test_formulas_everywhere_solve_nothing(demo: DemoSet, workshop: DemoWorkshop, text: str) -> None:
    skill = skill_of(demo)
    assert workshop.solved("selection", skill.with_text(f"{skill.text}\n{text}\n")) == set()


def test_a_useless_rule_changes_no_attempt(demo: DemoSet, workshop: DemoWorkshop) -> None:
    base = taught(skill_of(demo), *RULES.values())
    useless = taught(base, FORMAT_AS_IS)
    for task in workshop.tasks.values():
        assert workshop.attempt(task, useless) == workshop.attempt(task, base)


@pytest.mark.parametrize("gone", RULES)
def test_taking_one_rule_back_loses_just_its_tasks(demo: DemoSet, workshop: DemoWorkshop, gone: str) -> None:
    """What `git revert` of one commit does: the skill without that rule."""
    full = taught(skill_of(demo), *RULES.values())
    reverted = taught(skill_of(demo), *(idea for rule, idea in RULES.items() if rule != gone))
    for split in ("selection", "test"):
        lost = workshop.solved(split, full) - workshop.solved(split, reverted)
        assert lost == {task for task in predicted(split, set(RULES)) if gone in workshop.tasks[task].group.split("+")}
        assert 2 <= len(lost) <= 3


@pytest.mark.parametrize("order", list(itertools.permutations(RULES))[::7])
def test_rules_may_be_learned_in_any_order(demo: DemoSet, order: tuple[str, ...]) -> None:
    """Their places in the skill do not touch, so that commits can be reverted one by one."""
    whole = taught(skill_of(demo), *(RULES[rule] for rule in RULES))
    assert taught(skill_of(demo), *(RULES[rule] for rule in order)).text == whole.text
    lines = whole.text.splitlines()
    places = sorted(lines.index(idea.content) for idea in RULES.values())
    assert all(second - first >= 3 for first, second in itertools.pairwise(places)), places


def git(folder: Path, *words: str) -> str:
    names = [
        word for name in ("user.name=t", "user.email=t@localhost", "commit.gpgsign=false") for word in ("-c", name)
    ]
    done = subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def test_each_commit_of_a_rule_reverts_without_conflict(demo: DemoSet, tmp_path: Path) -> None:
    skill, file = skill_of(demo), tmp_path / "SKILL.md"
    git(tmp_path, "init", "-q")
    commits: dict[str, str] = {}
    for rule in ("", *RULES):
        skill = taught(skill, RULES[rule]) if rule else skill
        file.write_text(skill.text)
        git(tmp_path, "add", "SKILL.md")
        git(tmp_path, "commit", "-q", "-m", rule or "start")
        commits[rule] = git(tmp_path, "rev-parse", "HEAD").strip()
    for gone in RULES:
        git(tmp_path, "reset", "-q", "--hard", commits[list(RULES)[-1]])
        git(tmp_path, "revert", "--no-edit", commits[gone])
        without = taught(skill_of(demo), *(idea for rule, idea in RULES.items() if rule != gone))
        assert file.read_text() == without.text


def test_what_an_attempt_prints_names_the_cause(demo: DemoSet, workshop: DemoWorkshop) -> None:
    naive: Skill = skill_of(demo)
    printed = {task.group: workshop.attempt(task, naive).printed for task in workshop.tasks.values()}
    assert "formulas to" in printed["formula"]
    assert "stopped at the empty row" in printed["gap"]
    assert "no match for" in printed["keys"]
    assert "no match for" in printed["abbreviation"]
    assert "on the active sheet" in printed["sheet"]
    for task in workshop.tasks.values():
        if task.group == "plain":
            assert workshop.attempt(task, naive).printed.count("\n") == 1
