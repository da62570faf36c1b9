"""Which edits go on: general rules all, whatever gives a task away none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from daemon.demo.chat_tasks import write_chat_demo
from daemon.demo.demo_set import DemoSet
from daemon.demo.ideas import FAILURES, HABITS_KEPT
from daemon.demo.tasks import write_demo
from daemon.optimizer.firewall import Firewall
from daemon.tasks.load import load_tasks
from daemon.tasks.task import TaskSet
from skills_repo.edits import Edit, Op
from tests.unit.optimizer.firewall.samples import GENERAL, LEAKING
from tests.unit.optimizer.firewall.world import SKILL, firewall, make_skill, make_task, task

IDEAS = (*(idea for failure in FAILURES for idea in failure.ideas), *HABITS_KEPT.values())


@pytest.mark.parametrize("rule", GENERAL)
def test_a_general_rule_goes_on(rule: str) -> None:
    assert firewall().edit(Edit(Op.APPEND, content=f"- {rule}", rationale="Two attempts failed."), SKILL) == ""


@pytest.mark.parametrize(("content", "reason"), LEAKING)
def test_an_edit_that_gives_a_task_away_is_refused(content: str, reason: str) -> None:
    assert firewall().edit(Edit(Op.APPEND, content=content), SKILL).startswith(reason)


@pytest.mark.parametrize("write", [write_demo, write_chat_demo])
def test_every_idea_of_the_demo_goes_on(tmp_path: Path, write: Callable[[Path], DemoSet]) -> None:
    demo = write(tmp_path)
    guard = Firewall.of(load_tasks(demo.tasks))
    reasons = [guard.edit(Edit(Op.APPEND, content=idea.content, rationale=idea.rationale), SKILL) for idea in IDEAS]
    assert set(reasons) == {""}


def test_what_the_skill_says_already_is_no_leak() -> None:
    leak = "Mails of the Halvorsen account go to Port Alder."
    assert firewall().text(leak, SKILL)
    assert firewall().text(leak, make_skill(leak)) == ""


def test_a_deletion_is_never_refused() -> None:
    assert firewall().edit(Edit(Op.DELETE, target="Mails of Halvorsen go to Port Alder."), SKILL) == ""


def test_a_rationale_may_name_a_train_task_but_not_repeat_a_held_out_one() -> None:
    guard, held = firewall(), task("pump").prompt
    assert guard.edit(Edit(Op.APPEND, content="- Be exact.", rationale="kestrel-figures.csv was not read"), SKILL) == ""
    assert "held-out" in guard.edit(Edit(Op.APPEND, content="- Be exact.", rationale=held), SKILL)


def test_one_task_alone_is_guarded_too() -> None:
    guard = Firewall.of(TaskSet((make_task("t1", answer="Port Alder"),), Path()))
    assert guard.text("Say Port Alder.", SKILL) == "carries a gold answer"
    assert guard.text("Say where the ship lies.", SKILL) == ""


def test_what_is_said_beside_an_edit_is_cut_where_it_gives_a_task_away() -> None:
    guard, held = firewall(), task("pump").prompt
    said = guard.remark(f"Three attempts were vague, kestrel-figures.csv was not read. {held} Be exact.", SKILL)
    assert said.startswith("Three attempts were vague, kestrel-figures.csv was not read. ")
    assert "[withheld]" in said
    assert held not in said
    assert "Port Alder" not in guard.remark("The harbour is Port Alder, as expected.", SKILL)
    assert guard.remark("Two attempts did not check their result.", SKILL) == "Two attempts did not check their result."
