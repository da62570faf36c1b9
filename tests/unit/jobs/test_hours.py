"""Quiet hours and cron lines, at their edges."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as some

from daemon.jobs.hours import check_cron, last_due, next_due, quiet_until, read_quiet

BERLIN = ZoneInfo("Europe/Berlin")
UTC = ZoneInfo("UTC")


def at(text: str, zone: ZoneInfo = UTC) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def until(texts: list[str], moment: str, zone: ZoneInfo = UTC) -> str | None:
    found = quiet_until(tuple(read_quiet(text) for text in texts), at(moment, zone), zone)
    return None if found is None else datetime.fromtimestamp(found, zone).strftime("%a %H:%M")


@pytest.mark.parametrize(
    ("texts", "moment", "ends"),
    [
        (["mon-fri 09:00-18:00"], "2026-11-30T08:59", None),  # a Monday
        (["mon-fri 09:00-18:00"], "2026-11-30T09:00", "Mon 18:00"),
        (["mon-fri 09:00-18:00"], "2026-11-30T17:59", "Mon 18:00"),
        (["mon-fri 09:00-18:00"], "2026-11-30T18:00", None),
        (["mon-fri 09:00-18:00"], "2026-12-05T12:00", None),
        (["22:00-06:00"], "2026-11-30T23:30", "Tue 06:00"),
        (["22:00-06:00"], "2026-11-30T05:59", "Mon 06:00"),
        (["fri 22:00-06:00"], "2026-12-05T03:00", "Sat 06:00"),
        (["fri 22:00-06:00"], "2026-12-04T03:00", None),
        (["sat,sun"], "2026-12-05T12:00", "Mon 00:00"),
        (["sat-mon"], "2026-11-30T12:00", "Tue 00:00"),
        (["08:00-12:00", "12:00-16:00"], "2026-11-30T09:00", "Mon 16:00"),
        (["Mon-Fri 18:00-24:00", "00:00-06:00"], "2026-11-30T20:00", "Tue 06:00"),
        ([], "2026-11-30T20:00", None),
    ],
)
def test_quiet_hours_end_when_they_say(texts: list[str], moment: str, ends: str | None) -> None:
    assert until(texts, moment) == ends


def test_hours_without_an_end_are_looked_at_again_in_a_week() -> None:
    always = (read_quiet("mon-sun"),)
    found = quiet_until(always, at("2026-11-30T12:00"), UTC)
    assert found == at("2026-11-30T12:00") + 8 * 86_400


def test_a_night_of_changing_clocks_is_no_trouble() -> None:
    # On 25 October 2026 the hour from 2 to 3 comes twice in Berlin, on 29 March it does not come at all.
    assert until(["01:00-04:00"], "2026-10-25T02:30", BERLIN) == "Sun 04:00"
    assert until(["01:00-04:00"], "2026-03-29T01:30", BERLIN) == "Sun 04:00"
    assert until(["22:00-02:30"], "2026-03-28T23:00", BERLIN) == "Sun 03:30"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "9-18",
        "mon",
        "mon-fri 09:00",
        "mun 09:00-10:00",
        "09:00-09:00",
        "09:00-24:30",
        "24:00-06:00",
        "24:30-06:00",
        "mon tue 09:00-10:00",
    ],
)
def test_what_is_no_hours_is_refused_in_words(text: str) -> None:
    if text == "mon":
        assert read_quiet(text).days == {0}
        return
    with pytest.raises(ValueError, match="must be such as `mon-fri 09:00-18:00`"):
        read_quiet(text)


@given(some.integers(0, 7 * 1440 - 1), some.sampled_from(["mon-fri 09:00-18:00", "22:00-06:00", "sat 10:00-02:00"]))
def test_when_quiet_hours_end_none_hold_and_a_minute_before_some_do(minute: int, text: str) -> None:
    hours = (read_quiet(text),)
    now = at("2026-11-30T00:00") + minute * 60
    end = quiet_until(hours, now, UTC)
    if end is None:
        assert not hours[0].holds(datetime.fromtimestamp(now, UTC))
        return
    moment = datetime.fromtimestamp(end, UTC)
    assert not hours[0].holds(moment)
    assert hours[0].holds(moment - timedelta(minutes=1))
    assert now < end


def test_cron_lines_are_due_once() -> None:
    lines = ("0 2 * * 1-5", "30 12 * * *")
    monday = at("2026-11-30T00:00")
    assert last_due(lines, monday, at("2026-11-30T01:59"), UTC) is None
    assert last_due(lines, monday, at("2026-11-30T02:00"), UTC) == at("2026-11-30T02:00")
    assert last_due(lines, at("2026-11-30T02:00"), at("2026-11-30T12:00"), UTC) is None
    assert last_due(lines, monday, at("2026-11-30T13:00"), UTC) == at("2026-11-30T12:30")
    assert next_due(lines, monday, UTC) == at("2026-11-30T02:00")
    assert next_due((), monday, UTC) is None


def test_after_a_month_asleep_the_newest_moment_counts() -> None:
    assert last_due(("0 0 1 * *",), at("2026-01-15T00:00"), at("2026-11-30T12:00"), UTC) == at("2026-11-01T00:00")


@pytest.mark.parametrize("line", ["", "* * *", "61 * * * *", "a b c d e", "0 0 31 2"])
def test_what_is_no_cron_line_is_refused_in_words(line: str) -> None:
    with pytest.raises(ValueError, match="must be a cron line of five fields"):
        check_cron(line)
