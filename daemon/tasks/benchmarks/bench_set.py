"""A benchmark's files as a task set with its splits, and what is to be said of it besides.

Splits come from the published lists where those are there, else from a seeded ratio. Invariant: every task of the set
can be scored, is in one split, and gives other work than any task of another split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from daemon.tasks.benchmarks.benchmark import Benchmark, Items, LeftOut, Ratio
from daemon.tasks.benchmarks.id_lists import published_split
from daemon.tasks.benchmarks.places import need
from daemon.tasks.digest import task_digest, work_digest
from daemon.tasks.published import published_name
from daemon.tasks.scorers.registry import check_scorer, scorer_kind
from daemon.tasks.splits import by_ratio
from daemon.tasks.task import Split, Task, TaskError, TaskSet, split_digest

SEED = 42


@dataclass(frozen=True)
class Manifest:
    """Who is in which split."""

    splits: Mapping[str, Split]
    """Every listed id, those among them that are not here."""
    how: str
    """`published`, or `4:1:5, seed 42`."""

    @property
    def digest(self) -> str:
        """`sha256:…` of the lists."""
        return split_digest(self.splits.items())

    @property
    def published(self) -> bool:
        """These are the lists that the method's authors published."""
        return bool(published_name(self.digest))


@dataclass(frozen=True)
class BenchSet:
    """A benchmark, ready to be run."""

    benchmark: Benchmark
    folder: Path
    tasks: TaskSet
    manifest: Manifest
    left_out: tuple[LeftOut, ...]
    """Items of the manifest that are here and cannot be scored; with a ratio: all such items."""
    unlisted: int
    """Items that are here and that the manifest does not name."""

    def sizes(self) -> dict[Split, dict[str, int]]:
        """For each split: how many ids are listed, how many tasks can be run."""
        here = self.tasks.sizes()
        listed = dict.fromkeys(here, 0)
        for split in self.manifest.splits.values():
            listed[split] += 1
        return {split: {"listed": listed[split], "tasks": here[split]} for split in here}

    def left_out_of(self, split: Split) -> tuple[LeftOut, ...]:
        """Those of one split; where a ratio decided, all: an item that cannot be scored has no split then."""
        return tuple(one for one in self.left_out if self.manifest.splits.get(one.id, split) == split)


def open_bench(one: Benchmark, root: Path, *, ratio: Ratio | None = None, seed: int = SEED) -> BenchSet:
    """Read the benchmark's data below `root` (blocks); raises `TaskError` if it is not there or holds no task.

    `ratio`: split so even where the published lists are there.
    """
    folder = need(one, root)
    items = _checked(one.read(folder))
    if not items.tasks:
        first = f": {items.left_out[0].id} {items.left_out[0].why}" if items.left_out else ""
        raise TaskError(f"{folder}: holds no task of {one.title}{first}: fetch its data again")
    lists = published_split(one.title, root / "splits" / one.name) if ratio is None else None
    manifest = _by_ratio(items, ratio or one.ratio, seed) if lists is None else Manifest(lists, "published")
    tasks = tuple(replace(task, split=manifest.splits[task.id]) for task in items.tasks if task.id in manifest.splits)
    return BenchSet(
        one,
        folder,
        TaskSet(tasks, folder),
        manifest,
        tuple(left for left in items.left_out if lists is None or left.id in lists),
        sum(task.id not in manifest.splits for task in items.tasks),
    )


def _by_ratio(items: Items, ratio: Ratio, seed: int) -> Manifest:
    """Over what can be scored: an item that cannot has no split."""
    return Manifest(by_ratio(items.tasks, ratio, seed), f"{':'.join(map(str, ratio))}, seed {seed}")


def _checked(items: Items) -> Items:
    """The tasks by id with their digests; those whose scorer cannot take them, or that repeat another, are left out."""
    first: dict[str, str] = {}
    tasks: list[Task] = []
    left_out = list(items.left_out)
    for task in sorted(items.tasks, key=lambda task: task.id):
        why = _wrong(task)
        same = "" if why else first.setdefault(work_digest(task), task.id)
        if why:
            left_out.append(LeftOut(task.id, why))
        elif same != task.id:
            left_out.append(LeftOut(task.id, f"asks the same as {same}, which counts"))
        else:
            digest = task_digest(task, scorer_version=scorer_kind(task.scorer).version)
            tasks.append(replace(task, digest=digest))
    return Items(tuple(tasks), tuple(sorted(left_out, key=lambda left: left.id)))


def _wrong(task: Task) -> str:
    try:
        check_scorer(task)
    except TaskError as error:
        return str(error)
    return ""


def limited(tasks: TaskSet, split: Split, limit: int | None) -> TaskSet:
    """The set with the first `limit` tasks of one split, by id; None: all."""
    if limit is None:
        return tasks
    kept = [task.id for task in tasks.tasks if task.split == split][:limit]
    return replace(tasks, tasks=tuple(task for task in tasks.tasks if task.id in set(kept)))
