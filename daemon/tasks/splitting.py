"""`honed tasks split`: a seeded split, stratified by group, with tasks that are nearly the same on one side.

Invariants: the result depends on ids, groups, likeness, ratio and seed alone; a family of alike tasks is never cut; a
split whose selection could see nothing but giant gains is refused, saying how many tasks it takes.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from daemon.config_train import TrainSection
from daemon.optimizer.gates.power import smallest_effect, tasks_for
from daemon.tasks.load import Read
from daemon.tasks.near import NearIndex
from daemon.tasks.splits import SPLITS, by_ratio
from daemon.tasks.task import Split, TaskError

Ratio = tuple[int, int, int]
WORTH = 0.2
"""The gain of the mean that a selection split must be able to see, unless told otherwise: less decides nothing."""


@dataclass(frozen=True)
class Family:
    """Tasks that go the same way; its first id stands for it."""

    id: str
    group: str
    members: tuple[str, ...]
    split: Split | None = None


def parse_ratio(text: str) -> Ratio:
    """`4:1:5` as three whole numbers; raises `TaskError`."""
    parts = text.split(":")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 7 for part in parts):
        msg = f"--ratio {text[:40]!r}: give train, selection and test as three whole numbers, such as 4:1:5"
        raise TaskError(msg)
    train, selection, test = map(int, parts)
    if not train or not selection:
        msg = f"--ratio {text}: train and selection need a share of at least 1: one teaches, the other decides"
        raise TaskError(msg)
    return train, selection, test


def families(read: Read, index: NearIndex) -> list[Family]:
    """The set's tasks, ordered by id, those that are copies of each other together."""
    columns = read.columns
    leader = list(range(len(columns)))

    def lead(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    work: dict[int, int] = {}
    copies = [(work.setdefault(key, place), place) for place, key in enumerate(columns.work)]
    copies += [(pair.first, pair.second) for pair in index.pairs(read.task) if pair.copy]
    for first, second in copies:
        leader[lead(second)] = lead(first)
    together: dict[int, list[int]] = defaultdict(list)
    for place in range(len(columns)):
        together[lead(place)].append(place)
    made = []
    for places in together.values():
        ids = sorted(columns.ids[place] for place in places)
        groups = Counter(columns.groups[place] for place in places)
        made.append(Family(ids[0], min(groups, key=lambda name: (-groups[name], name)), tuple(ids)))
    return sorted(made, key=lambda family: family.id)


def split_families(found: Sequence[Family], ratio: Ratio, seed: int) -> dict[str, Split]:
    """Each id's split: families of one by the usual rule, larger ones first, where most is missing."""
    total = sum(len(family.members) for family in found)
    decided: dict[str, Split] = {}
    room = {name: Fraction(total * part, sum(ratio)) for name, part in zip(SPLITS, ratio, strict=True)}
    several = [family for family in found if len(family.members) > 1]
    order = by_ratio(several, (1, 1, 1), seed) if several else {}  # a seeded order that no id decides alone
    for family in sorted(several, key=lambda one: (-len(one.members), order[one.id], one.id)):
        name = max(SPLITS, key=lambda split: (room[split], -SPLITS.index(split)))
        room[name] -= len(family.members)
        decided |= dict.fromkeys(family.members, name)
    single = [family for family in found if len(family.members) == 1]
    if single:
        decided |= by_ratio(single, _what_is_missing(room), seed)
    return decided


def _what_is_missing(room: dict[Split, Fraction]) -> Ratio:
    """The room that is left, as a ratio of whole numbers."""
    left = [max(Fraction(0), room[name]) for name in SPLITS]
    scale = math.lcm(*(share.denominator for share in left))
    train, selection, test = (int(share * scale) for share in left)
    return train, selection, test


def check_worth(splits: Iterable[Split], ratio: Ratio, train: TrainSection, effect: float) -> float:
    """The smallest gain that the selection split sees; raises `TaskError` with the remedy if it is above `effect`."""
    counts = Counter(splits)
    n, total = counts["selection"], counts.total()
    if not counts["train"] or not n:
        msg = f"{total} tasks at {':'.join(map(str, ratio))} leave train {counts['train']} and selection {n}: add tasks"
        raise TaskError(msg)
    seen = smallest_effect(n, train)
    if seen <= effect:
        return seen
    needed = tasks_for(effect, train)
    whole = math.ceil(needed * sum(ratio) / ratio[1])
    msg = (
        f"selection would have {n} of {total} tasks, which see a gain of {seen:.2f} at best: it takes {needed} to see "
        f"{effect:.2f}, so {whole} tasks at {':'.join(map(str, ratio))}"
    )
    raise TaskError(f"{msg}; add tasks, give selection a larger share, or say what is worth seeing with --effect")
