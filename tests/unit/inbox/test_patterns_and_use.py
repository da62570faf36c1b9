"""Incidents of many sessions come to patterns, and a skill's use to figures that a scheduler can go by."""

from __future__ import annotations

import random

from daemon.inbox.patterns import EXAMPLES, patterns
from daemon.inbox.record import SkillSeen
from daemon.inbox.use import ERRORS, Use, use_of
from tests.support.sessions import NOON, SKILL, incident, record


def test_patterns_count_sessions_and_times_the_widest_spread_first() -> None:
    error = incident("error", "pytest: KeyError", count=5, example="x")
    rows = [record(1, incident(), error), record(2, incident()), record(3, incident(example="newest?")), record(4)]
    wide, narrow = patterns(rows, SKILL)
    assert (wide.kind, wide.label, wide.sessions, wide.count) == ("correction", "contradicted", 3, 3)
    assert (narrow.label, narrow.sessions, narrow.count) == ("pytest: KeyError", 1, 5)
    assert wide.keys == tuple(one.key for one in rows[:3])
    assert [one.session for one in wide.examples] == [one.key for one in rows[:EXAMPLES]]
    assert wide.last == NOON - 1
    assert [one.label for one in patterns(rows, SKILL, least=2)] == ["contradicted"]


def test_what_came_before_the_skill_was_opened_is_not_the_skill_s() -> None:
    rows = [record(1, incident(skills=()), incident("error", "x", skills=("other",)))]
    assert patterns(rows, SKILL) == ()
    assert [one.label for one in patterns(rows, "other")] == ["x"]
    assert len(patterns(rows)) == 2


def test_patterns_are_the_same_whatever_the_order_within_a_group() -> None:
    rows = [record(n, incident(label=f"l{n % 3}")) for n in range(9)]
    first = [(one.kind, one.label, one.sessions, one.keys) for one in patterns(rows, SKILL)]
    random.Random(1).shuffle(rows)
    assert [(one.kind, one.label, one.sessions, one.keys) for one in patterns(rows, SKILL)] == first


def test_use_counts_who_listed_opened_and_failed() -> None:
    rows = [
        record(1, incident()),
        record(2),
        record(3, opened=False),
        record(4, incident(), skills=("other",)),
        record(5, incident(skills=("other",)), skills=(SKILL, "other")),
    ]
    use = use_of(rows, SKILL)
    assert use == Use(SKILL, sessions=4, opened=3, failed=1, since=NOON - 5, until=NOON - 1)
    assert (use.unopened, use.failure_rate) == (1, 1 / 3)


def test_sessions_with_the_skill_as_it_is_now_are_told_apart() -> None:
    def seen(digest: str) -> tuple[SkillSeen, ...]:
        return (SkillSeen(name=SKILL, listed=True, opened=True, digest=digest),)

    rows = [record(n).model_copy(update={"skills": seen(digest)}) for n, digest in enumerate(("now", "now", "old", ""))]
    assert use_of(rows, SKILL, "now").current == 2
    assert use_of(rows, SKILL).current == 0, "what is not known is not counted"


def test_a_few_failed_calls_are_everyday_work() -> None:
    some, many = (record(1, incident("error", "grep: x", count=count)) for count in (ERRORS - 1, ERRORS))
    assert (use_of([some], SKILL).failed, use_of([many], SKILL).failed) == (0, 1)


def test_a_skill_that_nobody_uses_fails_never() -> None:
    assert use_of([], SKILL) == Use(SKILL)
    assert Use(SKILL).failure_rate == 0.0
    assert use_of([record(1, opened=False, ended=None)], SKILL) == Use(SKILL, sessions=1)
