"""Quiet hours and cron lines, in local time. Pure: the moment is given, never asked for.

Sources: cron(8) for the lines (through cronsim); quiet hours are `DAYS HH:MM-HH:MM`, each part alone will do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo

from cronsim import CronSim, CronSimError

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]|24):([0-5]\d)")
_QUIET = "must be such as `mon-fri 09:00-18:00`, `sat,sun` or `22:00-06:00`"
_LONGEST_DAYS = 8


@dataclass(frozen=True)
class Quiet:
    """Hours of a week; a span that ends before it begins goes over midnight and belongs to the day it begins on."""

    days: frozenset[int]
    """Monday is 0."""
    start: int
    """Minutes after midnight."""
    end: int
    """Up to 1440, not included."""

    def holds(self, moment: datetime) -> bool:
        """The local moment lies in these hours."""
        minute = moment.hour * 60 + moment.minute
        today, yesterday = moment.weekday() in self.days, (moment.weekday() - 1) % 7 in self.days
        if self.start < self.end:
            return today and self.start <= minute < self.end
        return (today and minute >= self.start) or (yesterday and minute < self.end)


def read_quiet(text: str) -> Quiet:
    """Hours from their text; raises `ValueError` in words."""
    words = text.lower().split()
    if not 1 <= len(words) <= 2:
        raise ValueError(_QUIET)
    span = _SPAN.fullmatch(words[-1])
    if span is None and len(words) == 2:
        raise ValueError(_QUIET)
    days = frozenset(range(7)) if span is not None and len(words) == 1 else _days(words[0])
    if span is None:
        return Quiet(days, 0, 1440)
    start, end = (int(span[n]) * 60 + int(span[n + 1]) for n in (1, 3))
    if start == end or start >= 1440 or end > 1440:
        raise ValueError(_QUIET)
    return Quiet(days, start, end)


def _days(text: str) -> frozenset[int]:
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first not in _DAYS or (last or first) not in _DAYS:
            raise ValueError(_QUIET)
        begin, end = _DAYS.index(first), _DAYS.index(last or first)
        found |= {(begin + n) % 7 for n in range((end - begin) % 7 + 1)}
    return frozenset(found)


def quiet_until(hours: tuple[Quiet, ...], now: float, zone: tzinfo | None = None) -> float | None:
    """When work may begin again (Unix time); None if it may now. Hours that never end: a week from now."""
    moment = datetime.fromtimestamp(now, zone)
    if not any(one.holds(moment) for one in hours):
        return None
    # Hours begin and end on whole minutes; ends of spans and midnights are the only moments at which one can end.
    ends = sorted({one.end % 1440 for one in hours} | {0})
    for day in range(_LONGEST_DAYS):
        date = (moment + timedelta(days=day)).date()
        for minute in ends:
            edge = datetime.combine(date, time(minute // 60, minute % 60), zone)
            if edge > moment.replace(fold=0) and not any(one.holds(edge) for one in hours):
                return edge.timestamp()
    return now + _LONGEST_DAYS * 86_400


def check_cron(line: str) -> None:
    """Raise `ValueError` in words for what is no cron line."""
    try:
        CronSim(line, datetime(2026, 1, 1))  # noqa: DTZ001 - any moment will do
    except CronSimError as error:
        raise ValueError(f"must be a cron line of five fields, such as `0 2 * * 1-5` ({error})") from error


def last_due(lines: tuple[str, ...], since: float, now: float, zone: tzinfo | None = None) -> float | None:
    """The newest moment after `since`, up to now, at which a line was due (Unix time); None: none was."""
    found = [due for line in lines if (due := _due(line, since, now, zone)) is not None]
    return max(found, default=None)


def next_due(lines: tuple[str, ...], now: float, zone: tzinfo | None = None) -> float | None:
    """The next moment at which a line is due; None: never."""
    moments = []
    for line in lines:
        first = next(CronSim(line, datetime.fromtimestamp(now, zone)), None)
        moments += [first.timestamp()] if first is not None else []
    return min(moments, default=None)


def _due(line: str, since: float, now: float, zone: tzinfo | None) -> float | None:
    """The newest one: looked for in growing pieces from now backwards, so that a long sleep costs little."""
    span = 60.0
    while True:
        begin = max(since, now - span)
        newest: float | None = None
        for moment in CronSim(line, datetime.fromtimestamp(begin, zone)):
            if moment.timestamp() > now:
                break
            newest = moment.timestamp()
        if newest is not None or begin <= since:
            return newest if newest is not None and newest > since else None
        span *= 8
