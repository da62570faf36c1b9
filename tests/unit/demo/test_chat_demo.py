"""The chat fallback: small text tasks whose answers follow the skill's rules."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from daemon.demo.chat_tasks import CHAT_PLANS, write_chat_demo
from daemon.demo.chat_wordings import Question, read_question, render_question
from daemon.demo.conversation import from_chat
from daemon.demo.demo_set import DemoSet
from daemon.demo.ideas import CODES, DATES, POLITE, SENTENCE
from daemon.demo.target import act
from daemon.journal.memory import MemoryJournal
from daemon.optimizer.loop import Training
from daemon.optimizer.report import RunReport
from daemon.optimizer.settings import Knobs as RunKnobs
from daemon.rollouts.rollouts import Rollouts
from daemon.tasks.load import load_tasks
from daemon.tasks.scorers.registry import score_task
from harnesses.fake import FakeHarness
from harnesses.harness import Assignment
from skills_repo.fake import FakeSkillRepository
from skills_repo.history import Author
from skills_repo.validate import validate
from tests.support.demo import SimulatedClient, knobs_of, skill_of, taught

RULES = {"question": SENTENCE.ideas[0], "figures": DATES.ideas[1], "messy": CODES.ideas[0]}
AS_GIVEN = DATES.ideas[0]


@pytest.fixture(scope="module")
def chat_demo(tmp_path_factory: pytest.TempPathFactory) -> DemoSet:
    return write_chat_demo(tmp_path_factory.mktemp("chat"))


def answer(prompt: str, skill_text: str) -> str:
    system = f"{skill_text}\n\nSolve the user's task. Reply with the answer itself."
    messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
    return act(from_chat({"model": "m", "messages": messages})).text


def chat_harness() -> FakeHarness:
    def work(assignment: Assignment) -> str:
        assert assignment.skill is not None
        return answer(assignment.prompt, assignment.skill.text)

    return FakeHarness(work)


@pytest.fixture(scope="module")
def report(chat_demo: DemoSet, tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    journal = MemoryJournal()
    folder = tmp_path_factory.mktemp("attempts")
    training = Training(
        rollouts=Rollouts(chat_harness(), score_task, journal, attempts_folder=folder, workers=2),
        client=SimulatedClient(),
        journal=journal,
        history=FakeSkillRepository(skill_of(chat_demo), author=Author("honed", "honed@localhost")),
        tasks=load_tasks(chat_demo.tasks),
        skill=chat_demo.skill_path,
        knobs=RunKnobs(knobs_of(chat_demo.knobs)),
    )
    return asyncio.run(training.run())


def test_the_same_seed_writes_the_same_bytes(chat_demo: DemoSet, tmp_path: Path) -> None:
    again = write_chat_demo(tmp_path)
    assert again.tasks.read_bytes() == chat_demo.tasks.read_bytes()
    assert load_tasks(again.tasks).sizes() == chat_demo.sizes == {"train": 16, "selection": 12, "test": 12}
    assert validate(skill_of(chat_demo)) == ()


@pytest.mark.parametrize(
    "question",
    [
        Question("3 April 2025"),
        Question("03/04/2025", asked=True),
        Question("ak  37", is_code=True),
        Question("AK / 37", is_code=True, asked=True),
    ],
)
def test_questions_read_back(question: Question) -> None:
    assert read_question(f"Hello.\n{render_question(question)}\nBye.") == question
    assert question.in_figures is (question.given == "03/04/2025")


@pytest.mark.parametrize("rules", [(), ("question",), ("figures",), ("messy",), tuple(RULES)])
@pytest.mark.parametrize("split", ["selection", "test"])
async def test_rules_solve_just_the_tasks_they_should(chat_demo: DemoSet, rules: tuple[str, ...], split: str) -> None:
    skill = taught(skill_of(chat_demo), *(RULES[rule] for rule in rules))
    tasks = [task for task in load_tasks(chat_demo.tasks).tasks if task.split == split]
    for task, (_, traps) in zip(tasks, CHAT_PLANS[split], strict=True):
        said = answer(task.prompt, skill.text)
        assert (said == task.answer) is (set(traps) <= set(rules)), (task.prompt, said)


def test_the_harmful_idea_breaks_dates_that_were_right(chat_demo: DemoSet) -> None:
    skill = skill_of(chat_demo)
    prompt = render_question(Question("3 April 2025"))
    assert answer(prompt, skill.text) == "2025-04-03"
    assert answer(prompt, taught(skill, AS_GIVEN).text) == "3 April 2025"


def test_training_accepts_and_rejects_and_scores_rise(report: RunReport) -> None:
    assert [step.outcome for step in report.steps] == ["accepted", "rejected", "accepted", "rejected"]
    fates = {fate.edit.content: fate.fate for fate in report.edits}
    assert {fates[rule.content] for rule in RULES.values()} == {"accepted"}
    assert fates[AS_GIVEN.content] == fates[POLITE.content] == "rejected"
    for split in (report.selection, report.test):
        assert split.before is not None
        assert split.after is not None
        assert (split.after.score or 0) > (split.before.score or 0)


def test_a_prompt_it_does_not_know_gets_an_honest_answer() -> None:
    assert "do not understand" in answer("Write a poem.", "")
    assert "do not understand" in act(from_chat({"model": "m", "messages": []})).text
