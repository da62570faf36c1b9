"""A clock that was wrong and is right again keeps nothing from being done."""

from __future__ import annotations

from dataclasses import replace

import pytest

from daemon.jobs.clock import LONGEST_WAIT_S, within
from daemon.jobs.job import Cause, Job

NOW = 1_000_000.0
JOB = Job(7, "pdf", Cause("skill", "1"), "queued", created=NOW - 10)


@pytest.mark.parametrize("wait", [-5.0, 0.0, 60.0, 86_400.0, LONGEST_WAIT_S])
def test_what_a_right_clock_wrote_stays(wait: float) -> None:
    job = replace(JOB, not_before=NOW + wait, started=NOW - 5, ended=NOW - 1)
    assert within(job, NOW) == job


def test_a_wait_of_months_is_none() -> None:
    assert within(replace(JOB, not_before=NOW + 90 * 86_400), NOW).not_before == 0.0


def test_what_is_to_come_has_not_ended_later_than_now() -> None:
    found = within(replace(JOB, state="done", created=NOW + 50, ended=NOW + 99), NOW)
    assert (found.created, found.ended) == (NOW, NOW)
