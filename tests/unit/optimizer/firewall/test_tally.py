"""The compact index counts exactly what plain sets count, whatever order things come and are asked in."""

from __future__ import annotations

import random
import tracemalloc

from daemon.optimizer.firewall.index import Owners
from daemon.optimizer.firewall.tally import BITS, Tally

TOP = (1 << BITS) - 2
EDGES = (0, 1, 2, TOP, TOP - 1, 1 << 53, (1 << 53) - 1)


def test_it_counts_as_sets_do_also_where_it_was_asked_between() -> None:
    random_, tally = random.Random(7), Tally()
    pool = [*EDGES, *(random_.randrange(TOP) for _ in range(200))]
    tasks: list[tuple[frozenset[int], bool]] = []
    for turn in range(120):
        numbers, held = frozenset(random_.sample(pool, random_.randrange(40))), random_.random() < 0.5
        tasks.append((numbers, held))
        tally.add(numbers, held=held)
        if turn % 30 == 7:
            tally.count(pool[0])
    for number in (*pool, 3, TOP - 5):
        out = sum(number in numbers for numbers, held in tasks if held)
        train = sum(number in numbers for numbers, held in tasks if not held)
        assert tally.count(number) == (out, train), number


def test_nothing_was_noted() -> None:
    assert Tally().count(5) == (0, 0)


def test_a_number_of_a_task_takes_about_eight_bytes() -> None:
    random_ = random.Random(3)
    tasks = [{random_.randrange(TOP) for _ in range(53)} for _ in range(2_000)]
    tracemalloc.start()
    tally = Tally()
    for numbers in tasks:
        tally.add(numbers, held=True)
    tally.count(0)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 12 * 53 * len(tasks)


def test_a_task_counts_once_for_each_way_that_it_has_a_phrase() -> None:
    owners = Owners()
    for number, ways in enumerate((("gold", "gold", "title"), ("title", "named", "title"), ("named", "gold", "named"))):
        for way in ways:
            owners.note(number, **{way: True})
    assert (owners.gold, owners.either, owners.named) == (2, 3, 2)
