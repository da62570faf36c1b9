"""Which commits a step's name means."""

from __future__ import annotations

import pytest

from skills_repo.history import Author, RepositoryError, SkillCommit
from skills_repo.log import describe
from skills_repo.naming import commits_of_step, is_step
from tests.support.history import step_message

MESSAGES = (
    "Add the skill",
    step_message("r-old", 1),
    step_message("r-older", 2),
    step_message("r-new", 0, before=None, phase="initial"),
    step_message("r-new", 3, position=1, of=2),
    step_message("r-new", 3, position=2, of=2),
    step_message("r-new", 4),
    step_message("r-new", 4, phase="slow_update"),
)
LOG: tuple[SkillCommit, ...] = tuple(
    describe(f"{number:040x}", "", Author("a", "b"), float(number), message) for number, message in enumerate(MESSAGES)
)[::-1]


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("3", [4, 5]),
        ("3.1", [4]),
        ("3.2", [5]),
        ("03.02", [5]),
        ("4", [6]),
        ("slow_update:4", [7]),
        ("slow_update:4.1", [7]),
        ("initial:0", [3]),
        ("r-old/1", [1]),
        ("r-olde/2", [2]),
        ("r-new/step:3.1", [4]),
    ],
)
def test_a_step_its_edits_and_other_runs(name: str, numbers: list[int]) -> None:
    assert is_step(name)
    assert [int(commit.sha, 16) for commit in commits_of_step(name, LOG)] == numbers


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("2", "run r-new has no accepted step 2 on the branch (it has: initial:0, step 3, step 4, slow_update:4)"),
        ("slow_update:3", "no accepted slow_update:3"),
        ("3.3", "step 3 of run r-new has 2 edits, none of them 3.3"),
        ("4.2", "step 4 of run r-new has 1 edit, none of them 4.2"),
        ("r-o/1", "2 runs begin with 'r-o' (the branch has: r-old, r-older, r-new)"),
        ("nobody/1", "no run begins with 'nobody'"),
        ("HEAD", "'HEAD' is no step"),
    ],
)
def test_what_is_not_there_says_what_is(name: str, message: str) -> None:
    with pytest.raises(RepositoryError) as error:
        commits_of_step(name, LOG)
    assert message in str(error.value)


def test_a_branch_without_honed_has_no_steps() -> None:
    with pytest.raises(RepositoryError, match="no commits of honed"):
        commits_of_step("1", LOG[-1:])


@pytest.mark.parametrize(
    "name", ["HEAD", "1234567", "abc1234", "main~2", "3.", ".3", "other:3", "-1", "r/x/3", "", "٣"]
)
def test_what_is_no_step(name: str) -> None:
    assert not is_step(name)
