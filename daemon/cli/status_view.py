"""A daemon's status for people, made for eighty columns."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from daemon.cli.asking import STYLES, caused, clock, indented, job_line, lasting, listed, score_text
from daemon.plain import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from daemon.jobs.job import Job
    from daemon.jobs.store import Pause
    from daemon.journal.records import RunRecord
    from daemon.service.desk import Progress, ProjectStatus, Status, Trouble

_BAR = 16
_INDENT = 2


def render_status(console: Console, status: Status) -> None:
    """The whole of it, once."""
    for indent, text in _parts(status):
        console.print(indented(console, text, indent))


def status_parts(status: Status) -> Group:
    """The whole of it, to be drawn."""
    return Group(*(Padding(text, (0, 0, 0, indent), expand=False) for indent, text in _parts(status)))


Line = tuple[int, Text]
"""Columns to indent by, and the line."""


def _parts(status: Status) -> Iterator[Line]:
    engine = f", {status.engine}" if status.engine else ""
    head = Text.assemble(
        ("honed ", "bold"),
        (status.version, "bold"),
        " ",
        (status.state, STYLES.get(status.state, "")),
        f" for {lasting(status.now - status.started)}",
        (f" (process {status.pid}{plain(engine)})", "dim"),
    )
    yield 0, head
    if status.paused:
        why = "" if status.paused == "paused" else f": {plain(status.paused)}"
        yield 0, Text(f"everything is paused{why} (`honed resume` goes on)", style="bold yellow")
    yield from _day(status)
    for trouble in status.troubles:
        yield from _trouble(trouble, status.now)
    for project in status.projects:
        yield 0, Text(" ")
        yield from _project(project, status.now, all_paused=bool(status.paused))


def _day(status: Status) -> Iterator[Line]:
    """What all skills together have taken today, where `[daemon.day]` has a cap."""
    usd, most = status.cap_today_usd, status.cap_today_attempts
    if usd is None and most is None:
        return
    made = sum(one.attempts_today for one in status.projects)
    spent = [one.spent_today_usd for one in status.projects]
    known = sum(cost for cost in spent if cost is not None)
    attempts = f"{made} of {_counted(most, 'attempt')}" if most is not None else _counted(made, "attempt")
    money = "price unknown" if None in spent else f"${known:.2f}"
    money += f" of ${usd:.2f}" if usd is not None else ""
    yield 0, Text(f"today, all skills together: {attempts}, {money}", style="dim")


def _trouble(trouble: Trouble, now: float) -> Iterator[Line]:
    whose = f" of {plain(trouble.project)}" if trouble.project else ""
    head = f"! {plain(trouble.name)}{whose}, for {lasting(now - trouble.since)}"
    yield 0, Text(head, style="bold red")
    yield _indented(Text(plain(f"{trouble.what}{f' ({trouble.remedy})' if trouble.remedy else ''}")))


def _project(one: ProjectStatus, now: float, *, all_paused: bool) -> Iterator[Line]:
    facts = [f"score {score_text(one.score)}"] if one.score is not None else []
    facts += [f"{one.accepted} accepted"] if one.accepted else []
    money = "price unknown" if one.spent_today_usd is None else f"${one.spent_today_usd:.2f}"
    facts += [f"today {_counted(one.attempts_today, 'attempt')}, {money}"] if one.attempts_today else []
    head = Text.assemble((plain(one.name), "bold"), "  ", (one.state.replace("-", " "), STYLES.get(one.state, "")))
    for fact in facts:
        head.append(f"  {fact}", style="dim")
    yield 0, head
    if one.progress is not None:
        yield from map(_indented, _progress(one.progress, now))
    elif one.why:
        until = f" (not before {clock(one.next_at, now)})" if one.next_at and one.next_at > now else ""
        if one.state == "paused" and not all_paused:
            until += f" (`honed resume {plain(one.name)}` goes on)"
        yield _indented(Text(plain(one.why) + until))
    if one.queued:
        jobs = listed([f"job {job.number} ({caused(job.cause)})" for job in one.queued], most=2)
        yield _indented(Text(f"queued: {jobs}", style="cyan"))
    told = one.last is not None and bool(one.last.reason) and one.last.reason in one.why
    if one.last is not None and one.progress is None and not told:
        yield _indented(Text(f"last: {_ended(one.last, now)}", style="dim"))


def _progress(progress: Progress, now: float) -> Iterator[Text]:
    job = progress.job
    since = f" for {lasting(now - job.started)}" if job.started is not None else ""
    yield Text.assemble(f"job {job.number}{since}: ", caused(job.cause))
    made = max(0, progress.step - 1)
    filled = round(_BAR * made / progress.steps) if progress.steps else 0
    where = f"step {progress.step}/{progress.steps} " if progress.step else ""
    line = Text.assemble(("━" * filled, "green"), ("━" * (_BAR - filled), "dim"))
    line.append(f" {where}{plain(progress.phase) or 'begins'}")
    yield line.append(f", {_counted(progress.attempts, 'attempt')} done, {progress.running} running", style="dim")


def _ended(job: Job, now: float) -> str:
    when = f" {clock(job.ended, now)}" if job.ended is not None else ""
    return f"job {job.number} {job.state}{when}{': ' + plain(job.reason) if job.reason else ''}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _indented(text: Text) -> Line:
    return _INDENT, text


def line_of(status: Status) -> list[str]:
    """What a change is told by: a line for the daemon, each trouble and each project, without passing times."""
    paused = f", paused: {status.paused}" if status.paused else ""
    lines = [f"daemon {status.state}{paused}"]
    lines += [f"trouble {one.name} {one.project}".rstrip() + f": {one.what}" for one in status.troubles]
    for one in status.projects:
        said = one.why
        if one.progress is not None:
            at = one.progress
            said = f"job {at.job.number}, step {at.step}/{at.steps} {at.phase}"
        lines.append(f"{one.name} {one.state}: {said}")
    return [plain(line) for line in lines]


def render_alone(
    console: Console, why: str, jobs: Sequence[Job], pauses: Sequence[Pause], newest: tuple[RunRecord, int] | None
) -> None:
    """What the stores say while no daemon runs."""
    console.print(Text(plain(why), style="bold"))
    for pause in pauses:
        console.print(Text(f"paused: {plain(pause.project or 'everything')} {plain(pause.reason)}".rstrip()))
    waiting = [job for job in jobs if job.state in ("queued", "running")]
    for job in waiting:
        console.print(job_line(job))
    ended = [job for job in jobs if job not in waiting]
    if ended:
        console.print(Text(f"last: {_ended(ended[-1], time.time())}"))
    if newest is not None:
        run, steps = newest
        console.print(
            Text(f"newest run {run.run_id}: {run.state}, {_counted(steps, 'step')} decided (`honed show latest`)")
        )
    elif not jobs:
        console.print("nothing was trained here yet: `honed train` trains once, `honed daemon` keeps at it")
