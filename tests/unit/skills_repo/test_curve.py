"""Runs and their points out of commits, what was taken back, and the bars."""

from __future__ import annotations

import pytest

from skills_repo.curve import curves, sparkline, taken_back
from skills_repo.history import Author, SkillCommit
from skills_repo.log import describe
from tests.support.history import step_message

SOMEBODY = Author("A Person", "person@example.com")


def commit(number: int, message: str) -> SkillCommit:
    return describe(f"{number:040x}", f"{number - 1:040x}", SOMEBODY, float(number), message)


def revert(number: int, target: int, reason: str = "") -> SkillCommit:
    return commit(number, f'Revert "x"\n\nThis reverts commit {target:040x}.\n\n{reason}\n')


def newest_first(*commits: SkillCommit) -> tuple[SkillCommit, ...]:
    return tuple(sorted(commits, key=lambda one: one.sha, reverse=True))


def test_steps_of_runs_slow_updates_and_given_starts() -> None:
    found = curves(
        newest_first(
            commit(1, "Add the skill"),
            commit(2, step_message("r-1", 0, before=None, phase="initial")),
            commit(3, step_message("r-1", 1, position=1, of=2)),
            commit(4, step_message("r-1", 1, position=2, of=2)),
            commit(5, "Mend by hand\n\nAll of it."),
            commit(6, step_message("r-1", 4, before=0.75, after=0.8)),
            commit(7, step_message("r-1", 4, before=0.8, after=0.9, phase="slow_update")),
            commit(8, step_message("r-2", 1, before=0.6, after=0.7)),
        )
    )
    assert [(run.run, [(point.step, point.phase) for point in run.points]) for run in found] == [
        ("r-1", [(0, "initial"), (1, "step"), (4, "step"), (4, "slow_update")]),
        ("r-2", [(1, "step")]),
    ]
    first, second = found
    assert [int(one.sha, 16) for one in first.points[1].commits] == [3, 4]
    assert first.points[1].when == 3.0
    assert first.scores == (0.5, 0.75, 0.8, 0.9)
    assert second.scores == (0.6, 0.7)


def test_a_run_without_figures_has_no_scores() -> None:
    [run] = curves([commit(1, "x\n\nHoned-Run: r-1\nHoned-Step: 1.1/1\nHoned-Gate: gibberish")])
    assert run.points[0].figures is None
    assert run.scores == ()


def test_a_commit_that_was_picked_onto_another_line_counts_once() -> None:
    [run] = curves(newest_first(commit(1, step_message()), commit(9, step_message())))
    assert [[int(one.sha, 16) for one in point.commits] for point in run.points] == [[1]]


def test_what_is_taken_back_and_what_is_put_back() -> None:
    edits = [commit(number, step_message(step=number)) for number in (1, 2, 3)]
    first, second = revert(4, 1, "it broke the report"), revert(5, 2)
    back = taken_back(newest_first(*edits, first, second))
    assert {int(sha, 16): one.reason for sha, one in back.items()} == {1: "it broke the report", 2: ""}
    again = taken_back(newest_first(*edits, first, second, revert(6, 4)))
    assert {int(sha, 16) for sha in again} == {2, 4}
    thrice = taken_back(newest_first(*edits, first, second, revert(6, 4), revert(7, 6)))
    assert {int(sha, 16) for sha in thrice} == {1, 2, 6}
    once_more = taken_back(newest_first(*edits, first, second, revert(6, 4), revert(7, 1)))
    assert {int(sha, 16) for sha in once_more} == {1, 2, 4}


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        ((), ""),
        ((0.4,), "▅"),
        ((0.4, 0.4), "▅▅"),
        ((0.0, 1.0), "▁█"),
        ((0.5, 0.52, 0.57, 0.5), "▁▃█▁"),
    ],
)
def test_bars(values: tuple[float, ...], bars: str) -> None:
    assert sparkline(values) == bars


def test_many_values_are_drawn_within_the_width_and_end_with_the_last() -> None:
    values = [float(number) for number in range(1_001)]
    bars = sparkline(values, width=8)
    assert bars == "▁▂▃▄▅▆▇█"
    assert len(sparkline(values)) == 40
    assert sparkline([*values, 0.0])[-1] == "▁"
