"""A task set that stays on disk: a few numbers a task in memory, and each task read again when it is asked for.

Invariant: what is given is what was checked. A task whose line or files changed since the set was loaded is refused,
since its results would be remembered under the old content's name.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

from daemon.tasks.digest import work_key
from daemon.tasks.formats.found import Span
from daemon.tasks.task import Split, Task, TaskError

_NAMES: tuple[Split | None, ...] = (None, "train", "selection", "test")
_CODES = {name: code for code, name in enumerate(_NAMES)}


@dataclass
class Columns:
    """Every task of a set in about 170 bytes, by its position in the file."""

    ids: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    """The text is shared by all tasks of a group."""
    splits: bytearray = field(default_factory=bytearray)
    protects: bytearray = field(default_factory=bytearray)
    weights: array[float] = field(default_factory=lambda: array("d"))
    work: array[int] = field(default_factory=lambda: array("Q"))
    """Each task's `work_key`."""
    digests: bytearray = field(default_factory=bytearray)
    starts: array[int] = field(default_factory=lambda: array("Q"))
    sizes: array[int] = field(default_factory=lambda: array("Q"))
    lines: array[int] = field(default_factory=lambda: array("Q"))
    _group_of: dict[str, str] = field(default_factory=dict)

    def add(self, task: Task, digest: str, span: Span | None) -> None:
        """Note one task; a set that is held in memory has no spans."""
        self.ids.append(task.id)
        self.groups.append(self._group_of.setdefault(task.group, task.group))
        self.splits.append(_CODES[task.split])
        self.protects.append(task.protect)
        self.weights.append(task.weight)
        self.work.append(work_key(task))
        self.digests += bytes.fromhex(digest[7:])
        if span is not None:
            self.starts.append(span.start)
            self.sizes.append(span.size)
            self.lines.append(span.line)

    def __len__(self) -> int:
        return len(self.ids)

    def split(self, place: int) -> Split | None:
        """Of the task at a position."""
        return _NAMES[self.splits[place]]

    def count(self, split: Split) -> int:
        """How many tasks a split has."""
        return self.splits.count(_CODES[split])

    def settle(self, splits: dict[str, Split]) -> None:
        """Note the splits that were decided, by id."""
        for place, task_id in enumerate(self.ids):
            self.splits[place] = _CODES[splits[task_id]]

    def digest(self, place: int) -> str:
        """The digest of the task at a position."""
        return "sha256:" + self.digests[32 * place : 32 * place + 32].hex()

    def span(self, place: int) -> Span:
        """Where the task at a position was read."""
        return Span(self.starts[place], self.sizes[place], self.lines[place])


@dataclass(frozen=True)
class PlacedRow:
    """A task as far as splits are concerned."""

    id: str
    group: str
    split: Split | None


def placed_rows(columns: Columns) -> list[PlacedRow]:
    """Every task as far as splits are concerned, in the file's order."""
    return [
        PlacedRow(one, group, columns.split(place))
        for place, (one, group) in enumerate(zip(columns.ids, columns.groups, strict=True))
    ]


class StoredTasks(Sequence[Task]):
    """Tasks by position; each is read when it is asked for. Raises `TaskError` for one that has changed."""

    def __init__(
        self, columns: Columns, order: array[int], read: Callable[[Span, str], Task], digest: Callable[[Task], str]
    ) -> None:
        self._columns = columns
        self._order = order
        self._read = read
        self._digest = digest

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> Task: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...

    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        if isinstance(index, slice):
            return StoredTasks(self._columns, self._order[index], self._read, self._digest)
        return self._task(self._order[index])

    def of(self, split: Split) -> StoredTasks:
        """The tasks of one split, in the same order."""
        code = _CODES[split]
        chosen = array("Q", (place for place in self._order if self._columns.splits[place] == code))
        return StoredTasks(self._columns, chosen, self._read, self._digest)

    def rows(self) -> Iterator[list[Any]]:
        """id, split, group, weight, protection and digest of every task, in order, from memory alone."""
        of = self._columns
        for at in self._order:
            yield [of.ids[at], of.split(at), of.groups[at], of.weights[at], bool(of.protects[at]), of.digest(at)]

    def _task(self, place: int) -> Task:
        span, task_id, digest = self._columns.span(place), self._columns.ids[place], self._columns.digest(place)
        try:
            task = self._read(span, task_id)
            same = task.id == task_id and self._digest(task) == digest
        except (OSError, TaskError):
            same = False
        if not same:
            msg = f"task {task_id} (line {span.line}) has changed since its set was loaded: start the command again"
            raise TaskError(msg)
        return replace(task, split=self._columns.split(place), digest=digest)
