"""Trace excerpts and refused edits in a body: training attempts alone, past the firewall, nothing that leaks."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from daemon.publishing.excerpts import MOST, PER_EDIT, Known
from daemon.publishing.facts import facts_of
from daemon.tasks.task import Task, TaskSet
from harnesses.harness import Assignment, Attempt
from skills_repo.publish.body import render
from skills_repo.publish.facts import Excerpt, Facts
from skills_repo.publish.proposal import Proposal
from tests.support.optimizer import ScriptedOptimizer, WorldHarness, edit, make_task, sensible
from tests.support.readback import KNOBS, TickingWorld, trained, world
from tests.unit.publish.test_body import a_proposal, outside_of_fences
from tests.unit.publish.test_facts import proposal_of

HELD_OUT = "Reconcile the northern ledger against all seventeen quarterly bank statements from Oslo"
GOLD = "KRYPTON-44"
"""How every task's answer begins; its id follows."""
SECRET = "github_pat_" + "A1b2C3d4E5_" * 4


def gold(task_id: str) -> str:
    """A task's answer."""
    return f"{GOLD}{zlib.crc32(task_id.encode()) % 10_000:04}"


def prompt_of(task: Task) -> str:
    """One that shows, for the held-out tasks."""
    return HELD_OUT if task.split == "selection" else task.prompt


@dataclass
class TellingHarness(WorldHarness):
    """An agent whose trace tells more than it should."""

    async def run(self, assignment: Assignment) -> Attempt:
        """The summary holds a secret, the task's gold, held-out text and markup."""
        done = await super().run(assignment)
        markup = "```\n</details>\n@octocat fixes #1"
        told = "\n".join([done.summary, f"I read the token {SECRET}", HELD_OUT, markup, gold(assignment.task_id)])
        return replace(done, summary=told)


def leaking(request: Any) -> Any:
    """A reflection also proposes an edit that gives a gold answer away."""
    reply = sensible(request)
    if request.schema_name == "reflect_failures":
        reply["edits"].insert(0, edit(f"- The answer is {gold('train-00')}.", evidence=["train-00"]))
    return reply


@pytest.fixture
async def made(tmp_path: Path) -> TickingWorld:
    """A training that is done."""
    knobs = KNOBS.model_copy(update={"edit_budget": 3})
    one = world(tmp_path / "attempts", client=ScriptedOptimizer(leaking), train=knobs)
    one.harness = TellingHarness(one.harness.needs)
    tasks = [
        make_task(task.id, task.split or "train", prompt=prompt_of(task), answer=gold(task.id))
        for task in one.tasks.tasks
    ]
    one.tasks = TaskSet(tuple(tasks), one.tasks.source)
    await trained(one)
    return one


async def told(made: TickingWorld, tasks: TaskSet) -> tuple[Proposal, Facts]:
    """What is known with a task set."""
    proposal = await proposal_of(made)
    known = Known.of(tasks)

    async def opened() -> Known:
        return known

    return proposal, await facts_of(made.journal, proposal, opened)


async def test_excerpts_show_failed_training_attempts_of_the_evidence_and_nothing_secret(made: TickingWorld) -> None:
    proposal, facts = await told(made, made.tasks)
    assert facts.excerpts
    evidence = {task for one in proposal.edits for task in one.trailers["Honed-Evidence"].split()}
    for row in facts.excerpts:
        assert row.task in evidence
        assert row.task.startswith("train-")
        assert row.text.startswith(f"scored 0.00\nworked on {row.task}: missing rule-")
    assert len(facts.excerpts) <= MOST
    per_step = [sum(row.step == step for row in facts.excerpts) for step in {row.step for row in facts.excerpts}]
    assert max(per_step) <= PER_EDIT
    body = render(proposal, facts, 65_000)
    assert "<summary>Trace excerpts: training attempts that the edits name as evidence</summary>" in body
    for secret in (SECRET, SECRET.replace("_", "\\_"), HELD_OUT, GOLD, "northern ledger"):
        assert secret not in body
    shown = outside_of_fences(body)
    assert "octocat" not in shown
    assert shown.count("</details>") == shown.count("<details>")


async def test_an_edit_that_was_refused_for_what_it_says_is_not_shown(made: TickingWorld) -> None:
    proposal, facts = await told(made, made.tasks)
    refused = [row for row in facts.rejected if not row.text]
    assert refused, "the firewall refused the leak"
    assert {row.why for row in refused} == {"it was refused before it was tried"}
    body = render(proposal, facts, 65_000)
    assert "its text is not shown" in body
    assert GOLD not in body


async def test_without_the_very_tasks_of_the_run_nothing_of_the_kind_is_shown(made: TickingWorld) -> None:
    """Another set's firewall does not know this one's gold."""
    others = TaskSet(tuple(made.tasks.tasks[1:]), made.tasks.source)
    _, facts = await told(made, others)
    assert facts.excerpts == ()
    assert all(not row.text for row in facts.rejected if row.why == "it was refused before it was tried")
    alone = await facts_of(made.journal, await proposal_of(made))
    assert (alone.excerpts, [GOLD in row.text for row in alone.rejected]) == ((), [False] * len(alone.rejected))


def test_excerpts_are_the_first_to_go_and_that_is_said() -> None:
    many = tuple(Excerpt(n, f"t-{n}", "x" * 1_500) for n in range(MOST))
    body = render(a_proposal(), Facts(excerpts=many), 65_000)
    assert body.count("Step ") == MOST
    assert "Left out" not in body
    small = render(a_proposal(), Facts(excerpts=many), 8_000)
    assert "Trace excerpts" not in small
    assert "<summary>The change, as text</summary>" in small
    assert "Left out, for a body may not be longer: trace excerpts." in small
