"""Which task is train, selection or test.

Explicit for all or for none. Without: a seeded ratio, stratified by group, that depends on ids, groups, ratio and
seed alone, never on file order. A set whose splits cannot decide anything is refused.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from daemon.tasks.task import Split, Task, TaskError

SPLITS: tuple[Split, Split, Split] = ("train", "selection", "test")


def decide_splits(
    tasks: Sequence[Task], *, ratio: tuple[int, int, int], seed: int, min_selection: int
) -> tuple[Task, ...]:
    """The tasks ordered by id, each with its split; raises `TaskError` naming sizes and remedy."""
    ordered = sorted(tasks, key=lambda task: task.id)
    given = [task for task in ordered if task.split is not None]
    if given and len(given) < len(ordered):
        first = next(task.id for task in ordered if task.split is None)
        msg = (
            f"split: {len(given)} of {len(ordered)} tasks have one and {first} has none: "
            "give every task a split, or none"
        )
        raise TaskError(msg)
    decided = tuple(ordered) if given else _by_ratio(ordered, ratio, seed)
    _check_sizes(decided, min_selection, by_ratio=not given)
    return decided


def _by_ratio(ordered: Sequence[Task], ratio: tuple[int, int, int], seed: int) -> tuple[Task, ...]:
    if len(ratio) != 3 or min(ratio) < 0 or sum(ratio) == 0:
        msg = f"[tasks] split = {list(ratio)} is no ratio: give train, selection and test as three whole numbers"
        raise TaskError(msg)
    sizes = _sizes(len(ordered), ratio)
    places = _places(ordered, seed)
    in_order = sorted(ordered, key=lambda task: (places[task.id], _unit(seed, "task", task.id), task.id))
    names = [name for name, size in zip(SPLITS, sizes, strict=True) for _ in range(size)]
    split_of = {task.id: name for task, name in zip(in_order, names, strict=True)}
    return tuple(replace(task, split=split_of[task.id]) for task in ordered)


def _sizes(total: int, ratio: tuple[int, int, int]) -> list[int]:
    """Largest remainder; ties go to the earlier split."""
    shares = [total * part / sum(ratio) for part in ratio]
    sizes = [int(share) for share in shares]
    order = sorted(range(3), key=lambda index: (sizes[index] - shares[index], index))
    for index in order[: total - sum(sizes)]:
        sizes[index] += 1
    return sizes


def _places(ordered: Sequence[Task], seed: int) -> dict[str, float]:
    """Each task's place in [0, 1): a group's tasks lie evenly apart, so every cut takes its share of each group.

    Systematic sampling: the group's own random offset keeps groups of one from all landing in the middle.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for task in ordered:
        groups[task.group].append(task.id)
    places = {}
    for group, ids in groups.items():
        offset = _unit(seed, "group", group)
        shuffled = sorted(ids, key=lambda one: (_unit(seed, "task", one), one))
        places.update({one: (index + offset) / len(ids) for index, one in enumerate(shuffled)})
    return places


def _unit(seed: int, kind: str, name: str) -> float:
    """A number in [0, 1) that depends on its arguments alone."""
    digest = hashlib.sha256(f"{seed}\0{kind}\0{name}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _check_sizes(tasks: Sequence[Task], min_selection: int, *, by_ratio: bool) -> None:
    counts = Counter(task.split for task in tasks)
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
