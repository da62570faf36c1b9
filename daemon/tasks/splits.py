"""Which task is train, selection or test.

Explicit for all or for none. Without: a seeded ratio, stratified by group, that depends on ids, groups, ratio and
seed alone, never on file order. A set whose splits cannot decide anything is refused.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Protocol

from daemon.tasks.task import Split, TaskError

SPLITS: tuple[Split, Split, Split] = ("train", "selection", "test")


class Placeable(Protocol):
    """What a split is decided by: a task, or the row that stands for it."""

    @property
    def id(self) -> str:
        """Of the task."""

    @property
    def group(self) -> str:
        """A kind of task."""

    @property
    def split(self) -> Split | None:
        """The one it came with."""


def decide_splits(
    tasks: Sequence[Placeable], *, ratio: tuple[int, int, int], seed: int, min_selection: int
) -> dict[str, Split]:
    """Each id's split, ordered by id; raises `TaskError` naming sizes and remedy."""
    ordered = sorted(tasks, key=lambda task: task.id)
    given = {task.id: task.split for task in ordered if task.split is not None}
    if given and len(given) < len(ordered):
        first = next(task.id for task in ordered if task.split is None)
        msg = (
            f"split: {len(given)} of {len(ordered)} tasks have one and {first} has none: "
            "give every task a split, or none"
        )
        raise TaskError(msg)
    decided = given or by_ratio(ordered, ratio, seed)
    _check_sizes(decided, min_selection, by_ratio=not given)
    return decided


def by_ratio(ordered: Sequence[Placeable], ratio: tuple[int, int, int], seed: int) -> dict[str, Split]:
    """Each id's split by a seeded, stratified ratio; in the order given, which changes nothing."""
    if len(ratio) != 3 or min(ratio) < 0 or sum(ratio) == 0:
        msg = f"[tasks] split = {list(ratio)} is no ratio: give train, selection and test as three whole numbers"
        raise TaskError(msg)
    sizes = _sizes(len(ordered), ratio)
    units = {task.id: _unit(seed, "task", task.id) for task in ordered}
    places = _places(ordered, seed, units)
    in_order = sorted(units, key=lambda one: (places[one], units[one], one))
    names = [name for name, size in zip(SPLITS, sizes, strict=True) for _ in range(size)]
    split_of = dict(zip(in_order, names, strict=True))
    return {task.id: split_of[task.id] for task in ordered}


def _sizes(total: int, ratio: tuple[int, int, int]) -> list[int]:
    """Largest remainder; ties go to the earlier split."""
    shares = [total * part / sum(ratio) for part in ratio]
    sizes = [int(share) for share in shares]
    order = sorted(range(3), key=lambda index: (sizes[index] - shares[index], index))
    for index in order[: total - sum(sizes)]:
        sizes[index] += 1
    return sizes


def _places(ordered: Sequence[Placeable], seed: int, units: Mapping[str, float]) -> dict[str, float]:
    """Each task's place in [0, 1): a group's tasks lie evenly apart, so every cut takes its share of each group.

    Systematic sampling: the group's own random offset keeps groups of one from all landing in the middle.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for task in ordered:
        groups[task.group].append(task.id)
    places = {}
    for group, ids in groups.items():
        offset = _unit(seed, "group", group)
        shuffled = sorted(ids, key=lambda one: (units[one], one))
        places.update({one: (index + offset) / len(ids) for index, one in enumerate(shuffled)})
    return places


def _unit(seed: int, kind: str, name: str) -> float:
    """A number in [0, 1) that depends on its arguments alone."""
    digest = hashlib.sha256(f"{seed}\0{kind}\0{name}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _check_sizes(splits: Mapping[str, Split], min_selection: int, *, by_ratio: bool) -> None:
    counts = Counter(splits.values())
    sizes = ", ".join(f"{name} {counts[name]}" for name in SPLITS)
    remedy = "change [tasks] split or add tasks" if by_ratio else "give more tasks that split"
    for name in ("train", "selection"):
        if not counts[name]:
            msg = f"split: {name} is empty ({sizes}): {remedy}"
            raise TaskError(msg)
    if counts["selection"] < min_selection:
        msg = (
            f"split: selection has {counts['selection']} of at least {min_selection} tasks ({sizes}), too few to "
            f"decide on: {remedy}, or lower [tasks] min_selection"
        )
        raise TaskError(msg)
