"""Load a task set from disk: one call finds the format, checks every task, decides the splits and seals the test.

A set that loads can be run: every file is there, every scorer has what it needs, no id is taken twice, and no task
of one split gives the same work as a task of another. A set of more than `IN_MEMORY_BYTES` stays on disk.
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from daemon.tasks.digest import task_digest, work_digest
from daemon.tasks.formats.found import Found
from daemon.tasks.formats.source import Source, open_source
from daemon.tasks.manifest import apply_manifest, manifest_file
from daemon.tasks.scorers.registry import check_scorer, needs_sandbox, scorer_kind
from daemon.tasks.splits import decide_splits
from daemon.tasks.stored import Columns, StoredTasks, placed_rows
from daemon.tasks.task import SOLVE, Split, Task, TaskError, TaskSet

IN_MEMORY_BYTES = 8 * 1024 * 1024
"""Of a file: larger ones are read again task by task, so that memory does not grow with prompts."""

_TELL_EVERY = 10_000
_FEW = 5

Tell = Callable[[int], None]
"""Called now and then with the number of tasks that were read so far."""


@dataclass
class Read:
    """A set as it was read: every task that is right, and every fault."""

    source: Source
    columns: Columns = field(default_factory=Columns)
    faults: list[TaskError] = field(default_factory=list)
    held: list[Task] = field(default_factory=list)
    """The tasks themselves, by position; empty for a set that stays on disk."""
    wheres: list[str] = field(default_factory=list)
    """The place of each task that has no line."""
    boxed: bool = False
    """Some solution or test needs a box to run in."""
    networked: int = 0
    """Tasks that may use a network, which no box has."""
    networked_first: list[str] = field(default_factory=list)
    """Ids of a few of them."""
    stays: bool = field(init=False)
    """The set stays on disk."""
    _places: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.stays = self.source.read is not None and self.source.size > IN_MEMORY_BYTES

    def take(self, found: Found) -> Task | None:
        """Check one find, and note the task, which is given back, or the fault."""
        if found.task is None:
            assert found.error is not None, "a find is a task or a fault"
            self.faults.append(found.error)
            return None
        try:
            _check_network(found.task)
            check_scorer(found.task)
            digest = digest_of(found.task)
        except TaskError as error:
            self.faults.append(TaskError(f"{found.where}: {error}"))
            return None
        # Folders and journals may not tell upper from lower case.
        first = self._places.setdefault(found.task.id.casefold(), len(self.columns))
        if first < len(self.columns):
            taken = f"{found.where}: id: {found.task.id!r} is taken by {self.where(first)}: give each task its own id"
            self.faults.append(TaskError(taken))
            return None
        self.boxed = self.boxed or SOLVE in found.task.solution or needs_sandbox(found.task)
        if found.task.network != "none":
            self.networked += 1
            self.networked_first += [found.task.id] if self.networked <= _FEW else []
        self.columns.add(found.task, digest, found.span)
        if found.span is None:
            self.wheres.append(found.where)
        if not self.stays:
            self.held.append(found.task)
        return found.task

    def where(self, place: int) -> str:
        """File and line of the task at a position."""
        return self.wheres[place] if self.wheres else f"{self.source.path}:{self.columns.lines[place]}"

    def task(self, place: int) -> Task:
        """The task at a position, without its split."""
        if self.held:
            return self.held[place]
        assert self.source.read is not None, "only such a set stays on disk"
        return self.source.read(self.columns.span(place), self.columns.ids[place])

    @property
    def notices(self) -> tuple[str, ...]:
        """What a person should know before the set is run, a line each."""
        if not self.networked:
            return ()
        more = f" and {self.networked - _FEW:,} more" if self.networked > _FEW else ""
        line = (
            f"{self.networked:,} tasks may use a network, which no box has ({', '.join(self.networked_first)}{more}): "
            "`honed tasks check` shows which of their solutions pass without; where all do, say that the task uses none"
        )
        return (line,)

    @property
    def manifest(self) -> Path:
        """Where this set's manifest lies, or would."""
        return manifest_file(self.source.path)

    def tasks(self) -> Sequence[Task]:
        """The tasks as a `TaskSet` holds them, ordered by id; only once splits are settled."""
        columns = self.columns
        order = sorted(range(len(columns)), key=columns.ids.__getitem__)
        if not self.stays:
            return tuple(
                replace(self.held[place], split=columns.split(place), digest=columns.digest(place)) for place in order
            )
        assert self.source.read is not None, "only such a set stays on disk"
        return StoredTasks(columns, array("Q", order), self.source.read, digest_of)

    def drop_lookups(self) -> None:
        """Forget what only reading needs."""
        self._places.clear()


def load_tasks(
    path: Path,
    *,
    split_ratio: tuple[int, int, int] = (4, 1, 5),
    seed: int = 42,
    min_selection: int = 4,
    note: Callable[[Task], None] = lambda _: None,
) -> TaskSet:
    """The set at `path`: see `formats.source` for what it may be.

    `split_ratio` (train : selection : test) and `seed` count only if no task has a split of its own and no manifest
    lies beside the set. `note` gets each task as it is read. Blocks: reads every file of the set. Raises `TaskError`.
    """
    read = read_set(path, note=note)
    if read.faults:
        more = f" (and {len(read.faults) - 1} more: `honed tasks check` lists them)" if len(read.faults) > 1 else ""
        raise TaskError(f"{read.faults[0]}{more}")
    if not len(read.columns):
        msg = f"{path}: holds no task: add one line a task"
        raise TaskError(msg)
    read.columns.settle(splits_of(read, ratio=split_ratio, seed=seed, min_selection=min_selection))
    leaks = exact_leaks(read)
    if leaks:
        raise TaskError(leaks[0])
    return TaskSet(tasks=read.tasks(), source=path, notices=read.notices)


def read_set(path: Path, tell: Tell = lambda _: None, note: Callable[[Task], None] = lambda _: None) -> Read:
    """Everything at `path`, right and wrong; raises `TaskError` only if there is no set that could be read.

    `note` gets each task that is right, in the order of positions.
    """
    read = Read(open_source(path))
    for number, found in enumerate(read.source.scan(), start=1):
        task = read.take(found)
        if task is not None:
            note(task)
        if number % _TELL_EVERY == 0:
            tell(number)
    read.drop_lookups()
    return read


def splits_of(read: Read, *, ratio: tuple[int, int, int], seed: int, min_selection: int) -> dict[str, Split]:
    """Each id's split: as the manifest beside the set has it, else the tasks themselves, else by ratio."""
    if read.manifest.is_file():
        return apply_manifest(read.manifest, read.columns.ids, own=any(read.columns.splits))
    try:
        return decide_splits(placed_rows(read.columns), ratio=ratio, seed=seed, min_selection=min_selection)
    except TaskError as error:
        raise TaskError(f"{read.source.path}: {error}") from error


def digest_of(task: Task) -> str:
    """The task's digest with its scorer's version."""
    return task_digest(task, scorer_version=scorer_kind(task.scorer).version)


def _check_network(task: Task) -> None:
    """Raise `TaskError` for a task that cannot be done here: its attempts would be scored 0 for what is no agent's."""
    if task.network == "required":
        msg = (
            "network: the task needs one, and no box has any: put what it fetches into its files or image and write "
            '"none", or leave the task out'
        )
        raise TaskError(msg)


def exact_leaks(read: Read) -> list[str]:
    """One line for each task that gives the same work as one of another split, once splits are settled.

    What train teaches would be measured as if it were new.
    """
    columns, leaks = read.columns, []
    order = sorted(range(len(columns)), key=lambda place: (columns.work[place], columns.ids[place]))
    for first, second in itertools.pairwise(order):
        if columns.work[first] != columns.work[second] or columns.splits[first] == columns.splits[second]:
            continue
        if work_digest(read.task(first)) == work_digest(read.task(second)):
            leaks.append(
                f"{read.where(second)}: task {columns.ids[second]} ({columns.split(second)}) has the same prompt and "
                f"files as {columns.ids[first]} ({columns.split(first)}, {read.where(first)}): remove one, or give "
                "both the same split"
            )
    return leaks
