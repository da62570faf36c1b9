"""The committed samples and initial skills: whole, scorable, won by the right answers and by nothing else."""

from __future__ import annotations

import pytest

from daemon.tasks.benchmarks.bench_set import open_bench
from daemon.tasks.benchmarks.catalogue import BENCHMARKS
from skills_repo.skill import read_folder
from skills_repo.validate import validate
from tests.support.benchmarks import gold_score, idle_score

NAMES = tuple(BENCHMARKS)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_has_every_split_and_leaves_nothing_out(name: str) -> None:
    found = open_bench(BENCHMARKS[name], BENCHMARKS[name].sample)
    assert found.left_out == ()
    assert min(found.tasks.sizes().values()) >= 1
    assert len(found.tasks.tasks) == 8


@pytest.mark.parametrize("name", NAMES)
async def test_the_right_answer_scores_1_and_none_scores_0(name: str) -> None:
    tasks = open_bench(BENCHMARKS[name], BENCHMARKS[name].sample).tasks.tasks
    golds = {task.id: (await gold_score(task)).value for task in tasks}
    idle = {task.id: (await idle_score(task)).hard for task in tasks}
    assert set(golds.values()) == {1.0}, golds
    assert not any(idle.values()), idle


@pytest.mark.parametrize("name", NAMES)
def test_an_initial_skill_is_valid_without_a_warning_and_short(name: str) -> None:
    skill = read_folder(BENCHMARKS[name].skill)
    assert validate(skill) == ()
    assert skill.name == name
    assert 500 < skill.chars < 3000


@pytest.mark.parametrize("name", NAMES)
def test_no_gold_is_in_a_skill(name: str) -> None:
    text = read_folder(BENCHMARKS[name].skill).text
    for task in open_bench(BENCHMARKS[name], BENCHMARKS[name].sample).tasks.tasks:
        answers = task.answer if isinstance(task.answer, list) else [task.answer]
        assert not any(isinstance(one, str) and len(one) > 3 and one in text for one in answers), task.id
