"""Which job comes next, and why, as a table."""

from __future__ import annotations

from typing import Any

import pytest

from daemon.jobs.choose import choose
from daemon.jobs.hours import read_quiet
from daemon.jobs.job import Cause, CauseKind, Job
from daemon.jobs.standing import Rules, Standing, cooldown_until

HOUR = 3600.0
NOW = 1_000_000.0
RULES = Rules(cooldown_s=24 * HOUR)


def job(number: int, kind: CauseKind = "tasks", state: str = "queued", project: str = "pdf", **more: Any) -> Job:
    more.setdefault("created", NOW - 60)
    return Job(number, project, Cause(kind, str(number)), state=state, **more)  # type: ignore[arg-type]


def ran(number: int, accepted: int, ago_h: float, score: float = 0.5, project: str = "pdf", tasks: int = 24) -> Job:
    ended = NOW - ago_h * HOUR
    more = {"created": ended - 60, "started": ended - 50, "ended": ended, "tries": 1}
    return job(number, "new", "done", project, accepted=accepted, score=score, tasks=tasks, **more)


def seat(one: Standing, rules: Rules = RULES, paused: str = "") -> tuple[str, float | None]:
    found = choose([one], rules, NOW, paused=paused).seats[0]
    return found.state, found.next_at


@pytest.mark.parametrize(
    ("one", "state", "at"),
    [
        (Standing("pdf"), "idle", None),
        (Standing("pdf", (job(1),)), "queued", None),
        (Standing("pdf", (job(1, state="running"), job(2))), "training", None),
        (Standing("pdf", (job(1),), broken="honed.toml: no model"), "broken", None),
        (Standing("pdf", (job(1),), paused="holiday"), "paused", None),
        (Standing("pdf", (job(1),), blocked="openai: auth", blocked_until=NOW + 30), "waiting", NOW + 30),
        (Standing("pdf", (job(1, not_before=NOW + 5), job(2, not_before=NOW + 9))), "waiting", NOW + 5),
        (Standing("pdf", (job(1, not_before=NOW + 5), job(2))), "queued", None),
        (Standing("pdf", (ran(1, 2, 1, score=1.0),)), "nothing-to-learn", None),
        (Standing("pdf", (ran(1, 0, 1, score=0.9),)), "idle", None),
        # Nothing was accepted: what nobody did waits, what a person did does not.
        (Standing("pdf", (ran(1, 0, 1), job(2, "inbox"))), "cooling", NOW + 23 * HOUR),
        (Standing("pdf", (ran(1, 0, 30), ran(2, 0, 1), job(3, "more"))), "cooling", NOW + 47 * HOUR),
        (Standing("pdf", (ran(1, 0, 1), job(2, "skill"))), "queued", None),
        (Standing("pdf", (ran(1, 0, 1), job(2, "schedule"))), "queued", None),
        (Standing("pdf", (ran(1, 0, 1), job(2, "inbox"), job(3, "taken-back"))), "queued", None),
        (Standing("pdf", (ran(1, 2, 1), job(2, "more"))), "queued", None),
        (Standing("pdf", (ran(1, 0, 25), job(2, "inbox"))), "queued", None),
    ],
)
def test_where_a_project_stands(one: Standing, state: str, at: float | None) -> None:
    assert seat(one) == (state, at)


def test_a_failed_job_says_why_nothing_happens() -> None:
    failed = job(1, state="failed", reason="tasks.jsonl:3: no prompt", ended=NOW - 5)
    found = choose([Standing("pdf", (failed,))], RULES, NOW).seats[0]
    assert (found.state, found.why) == ("idle", "job 1 failed: tasks.jsonl:3: no prompt")


def test_quiet_hours_hold_everything_but_what_somebody_asks_for() -> None:
    rules = Rules(quiet=(read_quiet("mon-sun"),))
    assert seat(Standing("pdf", (job(1, "skill"),)), rules)[0] == "waiting"
    assert seat(Standing("pdf", (job(1, "restart"),)), rules)[0] == "waiting", "nobody asks by starting a machine"
    assert seat(Standing("pdf", (job(1, "asked"),)), rules)[0] == "queued"
    assert seat(Standing("pdf", (job(1, "skill"), job(2, "retry"))), rules)[0] == "queued"


def test_a_pause_of_everything_holds_every_project() -> None:
    assert seat(Standing("pdf", (job(1, "asked"),)), paused="holiday")[0] == "paused"


@pytest.mark.parametrize(
    ("runs", "hours"),
    [([0], 24), ([0, 0], 48), ([0, 0, 0], 96), ([0] * 9, 168), ([2, 0], 24), ([0, 2], None), ([], None)],
)
def test_the_cool_down_grows_with_each_run_in_vain_up_to_a_week(runs: list[int], hours: float | None) -> None:
    results = [ran(n, accepted, len(runs) - n) for n, accepted in enumerate(runs)]
    found = cooldown_until(results, 24 * HOUR)
    assert found == (None if hours is None else NOW - HOUR + hours * HOUR)
    assert cooldown_until(results, 0.0) is None


def chosen(*standings: Standing, rules: Rules = RULES) -> Job | None:
    return choose(standings, rules, NOW).job


def test_acts_of_people_come_first_then_the_expected_gain() -> None:
    good = Standing("a", (ran(1, 2, 30, 0.9, "a"), job(2, "more", project="a")))
    bad = Standing("b", (ran(3, 2, 30, 0.3, "b"), job(4, "more", project="b")))
    assert chosen(good, bad) == bad.queued[0]
    person = Standing("c", (ran(5, 2, 30, 0.9, "c"), job(6, "skill", project="c")))
    assert chosen(good, bad, person) == person.queued[0]


def test_what_waited_for_a_day_counts_like_an_act_of_a_person() -> None:
    old = Standing("a", (ran(1, 2, 30, 0.9, "a"), job(2, "more", project="a", created=NOW - 25 * HOUR)))
    better = Standing("b", (ran(3, 2, 30, 0.3, "b"), job(4, "more", project="b")))
    assert chosen(old, better) == old.queued[0]


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ({"jobs": (ran(1, 2, 30, 0.3),)}, {"jobs": (ran(1, 2, 30, 0.8),)}),
        ({"jobs": (ran(1, 2, 30, 0.8, tasks=100),)}, {"jobs": (ran(1, 2, 30, 0.8, tasks=4),)}),
        ({"jobs": (ran(1, 2, 90), ran(2, 2, 60))}, {"jobs": (ran(1, 0, 90), ran(2, 2, 60))}),
        ({"jobs": (ran(1, 2, 30),), "sessions": 9, "failed": 7}, {"jobs": (ran(1, 2, 30),), "sessions": 9}),
        ({"jobs": (ran(1, 2, 300),)}, {"jobs": (ran(1, 2, 30),)}),
        ({"jobs": (ran(1, 2, 30),)}, {"jobs": (ran(1, 2, 3),)}),
    ],
    ids=["headroom", "noise", "chance", "use", "age", "share"],
)
def test_every_factor_moves_the_value_its_way(more: dict[str, Any], less: dict[str, Any]) -> None:
    values = {
        one.project: one.value for one in choose([Standing("a", **more), Standing("b", **less)], RULES, NOW).weighed
    }
    assert values["a"] > values["b"]


def test_each_project_has_its_share() -> None:
    """Ten projects that are worth the same get the same number of runs, whatever their names."""
    done: dict[str, list[Job]] = {f"p{n}": [] for n in range(10)}
    now, number = NOW, 0
    for _ in range(50):
        standings = []
        for name, jobs in done.items():
            number += 1
            standings.append(Standing(name, (*jobs, job(number, "more", project=name, created=now))))
        choice = choose(standings, Rules(cooldown_s=0), now)
        assert choice.job is not None
        more = {
            "created": now,
            "started": now,
            "ended": now + 600,
            "tries": 1,
            "accepted": 1,
            "score": 0.5,
            "tasks": 24,
        }
        done[choice.job.project].append(job(choice.job.number, "more", "done", choice.job.project, **more))
        now += 660
    assert {len(jobs) for jobs in done.values()} == {5}


def test_no_more_runs_than_allowed_and_never_two_of_one_project() -> None:
    busy = Standing("a", (job(1, state="running", project="a"), job(2, project="a")))
    free = Standing("b", (job(3, project="b"),))
    assert chosen(busy, free) is None
    assert chosen(busy, free, rules=Rules(runs=2)) == free.queued[0]
    assert chosen(busy, rules=Rules(runs=2)) is None


def test_the_answer_may_change_when_the_first_wait_is_over() -> None:
    first = Standing("a", (job(1, project="a", not_before=NOW + 50),))
    second = Standing("b", (job(2, project="b", not_before=NOW + 20),))
    assert choose([first, second], RULES, NOW).wake_at == NOW + 20
    assert choose([first, second], RULES, NOW + 30).job == second.queued[0]
    assert choose([Standing("a")], RULES, NOW).wake_at is None


def test_a_persons_act_names_the_run_and_the_choice_says_why() -> None:
    both = Standing("pdf", (job(1, "more"), job(2, "skill")))
    choice = choose([both, Standing("xls", (job(3, project="xls"),))], RULES, NOW)
    assert choice.job is not None
    assert choice.job.number == 2
    assert choice.why.startswith("a person changed the skill: an act of a person comes first of 2 projects")
    reasons = {one.project: one.reasons for one in choice.weighed}
    assert reasons["pdf"][0] == "never scored yet"
    assert len(reasons["pdf"]) == 5
    failed = Standing("pdf", (job(1, state="failed", score=0.25, tasks=4, accepted=0), job(2)))
    scored = choose([failed], RULES, NOW).weighed[0]
    assert scored.reasons[0] == "headroom 0.75, noise 0.22 (4 selection tasks)", "a run that failed has scored it, too"


def test_a_skill_whose_run_goes_on_is_weighed_with_its_job() -> None:
    standings = [Standing("a", (job(7, state="running"), job(8))), Standing("b", (job(9),))]
    weighed = {one.project: (one.running, one.eligible) for one in choose(standings, RULES, NOW).weighed}
    assert weighed == {"a": (7, False), "b": (0, True)}


def test_the_order_of_what_is_given_changes_nothing() -> None:
    standings = [Standing(name, (job(n, "more", project=name, created=NOW),)) for n, name in enumerate("dacb", 1)]
    assert choose(standings, RULES, NOW) == choose(standings[::-1], RULES, NOW)
