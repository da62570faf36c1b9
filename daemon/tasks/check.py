"""`honed tasks check`: everything that can be known of a task set before money is spent on it.

Invariant: one fault hides no other. What makes a set unusable, or a score on it mean nothing, is a problem and fails
the check; what a person should know and may want is a notice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from daemon.tasks.load import Read, exact_leaks, read_set, splits_of
from daemon.tasks.near import SIMILAR, NearIndex, Pair
from daemon.tasks.published import published_name
from daemon.tasks.task import Split, Task, TaskError, TaskSet, split_digest

Say = Callable[[str], None]
_TOGETHER = 64
SHOWN = 50
"""Notices of one kind that are written out."""


@dataclass
class SetReport:
    """What is known of a set. Lines are for people and name file, line and remedy."""

    path: Path
    format: str
    tasks: int
    groups: Mapping[str, int]
    sizes: Mapping[str, int] = field(default_factory=dict)
    """By split; empty where the set cannot be split."""
    split_from: str = ""
    """`tasks`, `manifest` or `ratio`."""
    digest: str = ""
    """Of the whole set, as every run's fingerprint holds it; empty while something is wrong. Likewise the next."""
    split_digest: str = ""
    published: str = ""
    """The published split that this is, if it is one."""
    problems: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    alike: int = 0
    """Pairs of tasks that are nearly the same."""


def check_set(
    path: Path, *, ratio: tuple[int, int, int], seed: int, min_selection: int, similar: float = SIMILAR, say: Say
) -> tuple[SetReport, Read]:
    """Read and check the set (blocks); raises `TaskError` only if there is none to be read."""
    index = NearIndex(similar)
    read = read_set(path, lambda number: say(f"read {number:,} tasks"), index.add)
    columns = read.columns
    report = SetReport(
        read.source.path, read.source.format, len(columns), dict(sorted(Counter(columns.groups).items()))
    )
    report.problems += [str(fault) for fault in read.faults]
    report.notices += read.notices
    if not len(columns):
        report.problems += [] if read.faults else [f"{path}: holds no task: add one line a task"]
        return report, read
    manifest = read.manifest.is_file()
    report.split_from = "manifest" if manifest else "tasks" if any(columns.splits) else "ratio"
    try:
        splits = splits_of(read, ratio=ratio, seed=seed, min_selection=min_selection)
    except TaskError as error:
        # A single task, or a few, may be checked before there are enough of them.
        (report.notices if report.split_from == "ratio" else report.problems).append(str(error))
    else:
        columns.settle(splits)
        report.sizes = {name: columns.count(name) for name in ("train", "selection", "test")}
        report.split_digest = split_digest(splits.items())
        report.published = published_name(report.split_digest)
        report.problems += exact_leaks(read)
        if not read.faults:
            report.digest = TaskSet(read.tasks(), path).digest
    say(f"looking for tasks that are alike among {len(columns):,}")
    _alike(report, read, index)
    return report, read


def _alike(report: SetReport, read: Read, index: NearIndex) -> None:
    columns, work = read.columns, read.columns.work
    lines: dict[str, list[str]] = {"copies": [], "across": [], "within": []}
    for pair in index.pairs(read.task):
        report.alike += 1
        crosses = bool(report.sizes) and columns.splits[pair.first] != columns.splits[pair.second]
        if work[pair.first] == work[pair.second]:
            if not crosses:  # across splits it is a problem already
                lines["within"].append(_line(read, pair, "is the same task as"))
        elif crosses:
            kind, what = (
                ("copies", "is nearly the same task as") if pair.copy else ("across", "is of one template with")
            )
            lines[kind].append(_line(read, pair, what))
        elif pair.copy:
            lines["within"].append(_line(read, pair, "is nearly the same task as"))
    remedy = ": keep them in one split (`honed tasks split` does), or remove one"
    report.problems += [line + remedy for line in lines["copies"]]
    for kind in ("within", "across"):
        report.notices += lines[kind][:SHOWN]
        if len(lines[kind]) > SHOWN:
            report.notices.append(f"… and {len(lines[kind]) - SHOWN:,} more pairs like these")


def _line(read: Read, pair: Pair, what: str) -> str:
    def named(place: int) -> str:
        split: Split | None = read.columns.split(place)
        return f"{read.columns.ids[place]}{f' ({split})' if split else ''}"

    alike = f" ({pair.similarity:.0%} alike)" if pair.similarity < 1 else ""
    return f"{read.where(pair.second)}: {named(pair.second)} {what} {named(pair.first)}{alike}"


async def each(read: Read) -> AsyncIterator[Task]:
    """Every right task of the set, by id, read off the event loop."""
    order = sorted(range(len(read.columns)), key=read.columns.ids.__getitem__)
    for start in range(0, len(order), _TOGETHER):
        places = order[start : start + _TOGETHER]
        for task in await asyncio.to_thread(list, map(read.task, places)):
            yield task
