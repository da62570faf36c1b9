from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.config_train import TrainSection
from daemon.tasks.load import read_set
from daemon.tasks.near import NearIndex
from daemon.tasks.splits import SPLITS, by_ratio
from daemon.tasks.splitting import Family, check_worth, families, parse_ratio, split_families
from daemon.tasks.task import Split, TaskError
from tests.support.tasks import row, write_rows

LONG = "Read the invoice that lies in the folder and say which of the listed items was delivered late by the supplier"


def found(file: Path, *rows: dict[str, Any]) -> list[Family]:
    index = NearIndex()
    return families(read_set(write_rows(file, *rows), note=index.add), index)


def test_copies_are_one_family_whatever_the_order(tmp_path: Path) -> None:
    rows = [
        row("c", prompt=LONG, group="x"),
        row("a", prompt=LONG + "!", group="y"),
        row("b", prompt=LONG.upper(), group="y"),
        row("d", prompt="Do  e."),
        row("e"),
        row("f", prompt=f"{LONG} in order 7"),
    ]
    made = found(tmp_path / "t.jsonl", *rows)
    assert [(family.id, family.members) for family in made] == [
        ("a", ("a", "b", "c")),
        ("d", ("d", "e")),
        ("f", ("f",)),
    ]
    assert made[0].group == "y"
    random.Random(1).shuffle(rows)
    assert found(tmp_path / "t.jsonl", *rows) == made


def test_without_copies_it_is_the_usual_split(tmp_path: Path) -> None:
    rows = [row(f"t{number:02}", group=f"g{number % 3}") for number in range(60)]
    made = found(tmp_path / "t.jsonl", *rows)
    assert split_families(made, (2, 1, 7), 42) == by_ratio(made, (2, 1, 7), 42)


@given(
    st.lists(st.integers(1, 6), min_size=20, max_size=60),
    st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(0, 9)),
    st.integers(0, 5),
)
def test_families_are_never_cut_and_sizes_stay_near_the_ratio(
    sizes: list[int], ratio: tuple[int, int, int], seed: int
) -> None:
    made = [
        Family(f"f{number}-0", "", tuple(f"f{number}-{member}" for member in range(size)))
        for number, size in enumerate(sizes)
    ]
    splits = split_families(made, ratio, seed)
    assert len(splits) == sum(sizes)
    assert all(len({splits[member] for member in family.members}) == 1 for family in made)
    counts = Counter(splits.values())
    for name, part in zip(SPLITS, ratio, strict=True):
        assert abs(counts[name] - sum(sizes) * part / sum(ratio)) <= 6


def splits_of(train: int, selection: int, test: int) -> list[Split]:
    return [name for name, size in zip(SPLITS, (train, selection, test), strict=True) for _ in range(size)]


def test_too_small_a_selection_is_refused_with_the_size_it_takes() -> None:
    with pytest.raises(TaskError) as caught:
        check_worth(splits_of(16, 4, 20), (4, 1, 5), TrainSection(), 0.2)
    assert (
        "selection would have 4 of 40 tasks, which see a gain of 0.25 at best: it takes 6 to see 0.20, so 60 tasks"
        in (str(caught.value))
    )
    assert check_worth(splits_of(24, 6, 30), (4, 1, 5), TrainSection(), 0.2) <= 0.2
    assert check_worth(splits_of(16, 4, 20), (4, 1, 5), TrainSection(), 0.25) == 0.25
    with pytest.raises(TaskError, match="leave train 2 and selection 0: add tasks"):
        check_worth(splits_of(2, 0, 3), (4, 1, 5), TrainSection(), 1.0)


@pytest.mark.parametrize("text", ["4:1", "4:1:x", "", "4:1:-5", "1e3:1:1", "0:1:1", "1:0:1", "٤:1:5"])
def test_ratios_that_are_none(text: str) -> None:
    with pytest.raises(TaskError, match="--ratio"):
        parse_ratio(text)
    assert parse_ratio("4:1:0") == (4, 1, 0)
