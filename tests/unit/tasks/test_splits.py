from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.tasks.splits import decide_splits
from daemon.tasks.task import Split, Task, TaskError
from tests.support.tasks import task_for


def tasks(groups: dict[str, int], split: Split | None = None) -> list[Task]:
    return [
        task_for("exact_match", "x", id=f"{name or 'none'}-{number}", group=name, split=split)
        for name, size in groups.items()
        for number in range(size)
    ]


def decided(
    given: list[Task], ratio: tuple[int, int, int] = (4, 1, 5), seed: int = 42, min_selection: int = 1
) -> dict[str, Split | None]:
    return dict(decide_splits(given, ratio=ratio, seed=seed, min_selection=min_selection))


def sizes(splits: dict[str, Split | None]) -> tuple[int, int, int]:
    counts = Counter(splits.values())
    return counts["train"], counts["selection"], counts["test"]


def test_the_ratio_is_met_exactly_where_it_can_be() -> None:
    assert sizes(decided(tasks({"": 100}))) == (40, 10, 50)
    assert sizes(decided(tasks({"": 36}), (1, 1, 1))) == (12, 12, 12)
    assert sizes(decided(tasks({"": 11}), (4, 1, 5), min_selection=1)) == (4, 1, 6)
    assert sizes(decided(tasks({"": 10}), (1, 1, 0))) == (5, 5, 0)


def test_file_order_changes_nothing() -> None:
    given = tasks({"a": 20, "b": 13})
    shuffled = given.copy()
    random.Random(1).shuffle(shuffled)
    assert decided(given) == decided(shuffled)
    assert list(decided(shuffled)) == sorted(task.id for task in given)


def test_the_seed_changes_who_is_where_and_not_how_many() -> None:
    given = tasks({"": 100})
    assert decided(given, seed=1) != decided(given, seed=2)
    assert sizes(decided(given, seed=1)) == sizes(decided(given, seed=2))


def test_a_known_split_stays_what_it_is() -> None:
    # Journals and reports of users depend on it: a change of the rule is a change of every seeded split.
    splits = decided(tasks({"a": 6, "b": 4}), (2, 1, 2))
    assert [name for name, split in splits.items() if split == "selection"] == ["a-4", "a-5"]
    assert [name for name, split in splits.items() if split == "train"] == ["a-1", "a-2", "b-1", "b-3"]


def test_every_group_gets_its_share() -> None:
    splits = decided(tasks({"a": 50, "b": 30, "c": 20}), (4, 1, 5))
    for group, size in (("a", 50), ("b", 30), ("c", 20)):
        train, selection, test = sizes({name: split for name, split in splits.items() if name.startswith(group)})
        assert abs(train - 0.4 * size) <= 1
        assert abs(selection - 0.1 * size) <= 1
        assert abs(test - 0.5 * size) <= 1


def test_groups_of_one_do_not_flock_into_one_split() -> None:
    given = tasks({"big": 60} | {f"single{number}": 1 for number in range(40)})
    singles = {name: split for name, split in decided(given).items() if name.startswith("single")}
    train, selection, test = sizes(singles)
    assert train >= 8
    assert selection <= 10
    assert test >= 12


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 30), min_size=1),
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9)),
    st.integers(0, 5),
)
def test_sizes_are_within_one_of_the_ratio(groups: dict[str, int], ratio: tuple[int, int, int], seed: int) -> None:
    given = tasks(groups)
    shares = [len(given) * part / sum(ratio) for part in ratio]
    if shares[0] < 1 or shares[1] < 1:
        return  # a split may be empty, which is refused: tested apart
    splits = decided(given, ratio, seed)
    assert all(abs(size - share) < 1 for size, share in zip(sizes(splits), shares, strict=True))


def test_explicit_splits_are_kept() -> None:
    given = tasks({"a": 3}, "train") + tasks({"b": 2}, "selection")
    assert sizes(decided(given)) == (3, 2, 0)


@pytest.mark.parametrize(
    ("given", "ratio", "minimum", "complaint"),
    [
        (tasks({"a": 3}, "train") + tasks({"b": 1}), (4, 1, 5), 1, "3 of 4 tasks have one and b-0 has none"),
        (tasks({"a": 3}, "train"), (4, 1, 5), 1, r"selection is empty \(train 3, selection 0, test 0\)"),
        (tasks({"a": 3}, "selection"), (4, 1, 5), 1, "train is empty .*: give more tasks that split"),
        (tasks({"a": 30}), (4, 1, 5), 4, "selection has 3 of at least 4 tasks .* lower .tasks. min_selection"),
        (tasks({"a": 2}), (4, 1, 5), 1, r"selection is empty .*: change \[tasks\] split or add tasks"),
        (tasks({"a": 9}), (1, 0, 1), 1, "selection is empty"),
        (tasks({"a": 9}), (0, 0, 0), 1, r"\[tasks\] split = \[0, 0, 0\] is no ratio"),
        (tasks({"a": 9}), (5, -1, 1), 1, r"\[tasks\] split = \[5, -1, 1\] is no ratio"),
    ],
)
def test_splits_that_decide_nothing_are_refused(
    given: list[Task], ratio: tuple[int, int, int], minimum: int, complaint: str
) -> None:
    with pytest.raises(TaskError, match=complaint):
        decided(given, ratio, min_selection=minimum)
