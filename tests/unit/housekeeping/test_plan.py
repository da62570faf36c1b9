"""Which folders are compressed and which go: a table, and what holds for any folder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.config_retention import RetentionSection
from daemon.housekeeping.plan import NEWEST, Kept, Pack, Prune, plan
from sandboxes.sandbox import MIB

DAY = 86_400.0
NOW = 1000 * DAY
RULES = RetentionSection(attempts_days=10, attempts_mb=100, compress_hours=24)
FRESH = tuple(Kept(f"z{n:02}", False, 0, NOW) for n in range(NEWEST))
"""The newest, which never go by age."""


def kept(name: str, days: float, *, packed: bool = False, mb: float = 1) -> Kept:
    return Kept(name, packed, int(mb * MIB), NOW - days * DAY)


def big(name: str, days: float) -> Kept:
    return kept(name, days, packed=True, mb=60)


CASES: list[tuple[str, list[Kept], list[Pack | Prune]]] = [
    ("young", [kept("a", 0.5)], []),
    ("a day old", [kept("a", 1.5)], [Pack("a")]),
    ("packed already", [kept("a", 1.5, packed=True)], []),
    ("too old", [kept("a", 10.5, packed=True)], [Prune("a", "age")]),
    ("too old, never packed", [kept("a", 10.5)], [Prune("a", "age")]),
    ("of the future", [kept("a", -99)], []),
    ("too much, not packed", [kept("a", 0.5, mb=60), kept("b", 0.6, mb=60)], [Pack("b"), Pack("a")]),
    ("too much, just touched", [kept("a", 0, mb=60), kept("b", 0.6, mb=60)], [Pack("b")]),
    ("too much, all packed", [big("a", 2), big("b", 3)], [Prune("b", "size")]),
    (
        "far too much",
        [kept(name, days, packed=True, mb=90) for name, days in (("a", 2), ("b", 3), ("c", 4))],
        [Prune("c", "size"), Prune("b", "size")],
    ),
    ("too old, and then enough", [big("a", 11), big("b", 3)], [Prune("a", "age")]),
]


@pytest.mark.parametrize(("found", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_done(found: list[Kept], expected: list[Pack | Prune]) -> None:
    assert list(plan([*FRESH, *found], RULES, NOW)) == expected


def test_a_clock_that_jumped_ahead_leaves_the_newest() -> None:
    found = [kept(f"a{n:02}", n / 100) for n in range(50)]
    gone = plan(found, RULES, NOW + 9999 * DAY)
    pruned = {one.attempt_id for one in gone if isinstance(one, Prune)}
    assert pruned == {f"a{n:02}" for n in range(NEWEST, 50)}


def test_a_clock_that_was_turned_back_removes_nothing() -> None:
    assert plan([kept(f"a{n}", 5) for n in range(50)], RULES, NOW - 99 * DAY) == ()


NAMES = [f"a{n}" for n in range(30)]
FOUND = st.lists(
    st.builds(
        Kept,
        st.sampled_from(NAMES),
        st.booleans(),
        st.integers(0, 20 * MIB),
        st.floats(NOW - 40 * DAY, NOW + 5 * DAY),
    ),
    unique_by=lambda one: one.attempt_id,
    max_size=30,
)
SETS = st.frozensets(st.sampled_from(NAMES))


@given(FOUND, SETS, SETS)
def test_whatever_is_there_it_comes_to_an_end_within_its_bounds(
    found: list[Kept], live: frozenset[str], wanted: frozenset[str]
) -> None:
    world = {one.attempt_id: one for one in found}
    rounds = 0
    while todo := plan(world.values(), RULES, NOW, spared=live, wanted=wanted):
        rounds += 1
        assert rounds <= 3
        for action in todo:
            one = world[action.attempt_id]
            assert action.attempt_id not in live
            if isinstance(action, Pack):
                assert not one.packed
                assert action.attempt_id not in wanted
                world[action.attempt_id] = Kept(one.attempt_id, True, one.size // 3, one.touched)
            else:
                assert action.why == "age" or action.attempt_id not in wanted
                del world[action.attempt_id]
    spared = sum(one.size for one in world.values() if one.attempt_id in live | wanted or not one.packed)
    total = sum(one.size for one in world.values())
    assert total <= max(RULES.attempts_mb * MIB, spared + 20 * MIB) or all(
        one.attempt_id in live | wanted for one in world.values()
    )


@given(FOUND)
def test_the_oldest_go_first(found: list[Kept]) -> None:
    by_name = {one.attempt_id: one for one in found}
    pruned = [by_name[one.attempt_id].touched for one in plan(found, RULES, NOW) if isinstance(one, Prune)]
    assert pruned == sorted(pruned)
