"""CSV: one question and its ground truth a row, as spreadsheets and evaluation tools write them.

Columns `question` (or `prompt`) and `ground_truth` (or `answer`, `expected_output`) are needed; `id`, `split`, `group`,
`weight`, `protect` and `scorer` (a name) may be there; others are left alone, since exports carry many. Without ids, a
row is named after its question, so that moving rows moves no task into another split. Comma, semicolon and tab are told
by the header; a byte-order mark, quoted line ends, UTF-16 and CRLF are read. Errors name the line that a row begins on.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from daemon.tasks.formats.found import Found, Span, attempt
from daemon.tasks.formats.paths import check_task_id
from daemon.tasks.task import MAX_WEIGHT, ScorerSpec, Split, Task, TaskError

QUESTION = ("question", "prompt")
ANSWER = ("ground_truth", "answer", "expected_output")
MAX_ROW_BYTES = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_WIDE = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_SPLITS: dict[str, Split] = {"train": "train", "selection": "selection", "val": "selection", "test": "test"}


@dataclass(frozen=True)
class Shape:
    """What the header says: how cells are told apart, and which column is what."""

    delimiter: str
    columns: tuple[str, ...]
    encoding: str

    def cells(self, row: Sequence[str]) -> dict[str, str]:
        """The row by column name."""
        return dict(zip(self.columns, row, strict=True))


def scan_csv(file: Path) -> Iterator[Found]:
    """Every row's task or fault, in order; raises `TaskError` if the file cannot be read or has no such header."""
    seen: dict[str, int] = {}
    try:
        with file.open("rb") as stream:
            lines = _Lines(stream)
            shape = _shape(file, lines)
            for span, row in _rows(lines, shape):
                yield attempt(f"{file}:{span.line}", partial(_task, file, shape, span, row, seen), span)
    except OSError as error:
        msg = f"{file}: cannot be read ({error.strerror}): check [tasks] path"
        raise TaskError(msg) from error


def read_row(file: Path, span: Span, task_id: str) -> Task:
    """The task of one row again, under the id it was given; raises `TaskError` as the scan does, and `OSError`."""
    with file.open("rb") as stream:
        lines = _Lines(stream)
        shape = _shape(file, lines)
        lines.move(span)
        _, row = next(_rows(lines, shape))
        task = _task(file, shape, span, row, {})
        return task if task.id == task_id else _named(task, task_id)


def _named(task: Task, task_id: str) -> Task:
    fields = {name: getattr(task, name) for name in task.__dataclass_fields__}
    return Task(**{**fields, "id": task_id})


class _Lines:
    """The file's lines as text, with places in bytes. What cannot be decoded is kept as the fault of its line."""

    def __init__(self, stream: BinaryIO) -> None:
        head = stream.read(3)
        self.encoding = _WIDE.get(head[:2], "utf-8")
        self._stream = stream
        self._end = "\n".encode(self.encoding)
        self.place = 3 if head == _BOM else 2 if self.encoding != "utf-8" else 0
        self.number = 0
        self.faults: list[str] = []
        stream.seek(self.place)

    def move(self, span: Span) -> None:
        """Go on reading at another row."""
        self._stream.seek(span.start)
        self.place, self.number = span.start, span.line - 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._line()
        if not line:
            raise StopIteration
        self.number += 1
        self.place += len(line)
        try:
            return line.decode(self.encoding)
        except UnicodeDecodeError as error:
            self.faults.append(f"line {self.number} is not {self.encoding.upper()} (byte {error.start + 1})")
            return line.decode(self.encoding, "replace")

    def _line(self) -> bytes:
        line = self._stream.readline(MAX_ROW_BYTES)
        while line and not self._whole(line) and len(line) < MAX_ROW_BYTES:
            # Half of a wide character: its other byte may be what ends the line.
            rest = self._stream.read(1) if line.endswith(b"\n") else self._stream.readline(MAX_ROW_BYTES)
            if not rest:
                break
            line += rest
        return line

    def _whole(self, line: bytes) -> bool:
        return line.endswith(self._end) and len(line) % len(self._end) == 0


def _shape(file: Path, lines: _Lines) -> Shape:
    header = next(lines, "")
    if lines.faults:
        msg = f"{file}:1: {lines.faults[0]}: save the file as UTF-8"
        raise TaskError(msg)
    for delimiter in (",", ";", "\t", "|"):
        try:
            names = next(csv.reader([header], delimiter=delimiter), [])
        except csv.Error as error:
            msg = f"{file}:1: the header is no row: {error}: save the file with plain line ends"
            raise TaskError(msg) from error
        columns = tuple(name.strip().lower() for name in names)
        if any(name in columns for name in QUESTION):
            return _checked(file, Shape(delimiter, columns, lines.encoding))
    msg = f"{file}:1: the header {header.strip()[:120]!r} has no column question: name it question, and ground_truth"
    raise TaskError(msg)


def _checked(file: Path, shape: Shape) -> Shape:
    if twice := next((name for name in shape.columns if name and shape.columns.count(name) > 1), None):
        msg = f"{file}:1: {twice}: the header has this column twice: rename one"
        raise TaskError(msg)
    if not any(name in shape.columns for name in ANSWER):
        msg = f"{file}:1: ground_truth: the header has no such column: it holds what each answer is scored against"
        raise TaskError(msg)
    return shape


def _rows(lines: _Lines, shape: Shape) -> Iterator[tuple[Span, list[str] | TaskError]]:
    """Each row that is not blank; a row that is no row, as the fault that it has."""
    csv.field_size_limit(MAX_ROW_BYTES)
    reader = csv.reader(lines, delimiter=shape.delimiter, strict=True)
    while True:
        start, line = lines.place, lines.number + 1
        lines.faults.clear()
        row: list[str] | TaskError
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = TaskError(f"is no row: {error}: quote cells that hold quotes or line ends")
        if lines.faults:
            row = TaskError(f"{lines.faults[0]}: save the file as UTF-8")
        if isinstance(row, TaskError) or any(cell.strip() for cell in row):
            yield Span(start, lines.place - start, line), row


def _task(file: Path, shape: Shape, span: Span, row: list[str] | TaskError, seen: dict[str, int]) -> Task:
    where = f"{file}:{span.line}"
    if isinstance(row, TaskError):
        raise TaskError(f"{where}: {row}")
    if len(row) != len(shape.columns):
        msg = f"{where}: has {len(row)} cells where the header has {len(shape.columns)}: quote cells that hold a "
        raise TaskError(msg + repr(shape.delimiter))
    cells = shape.cells(row)
    question = next(name for name in QUESTION if name in cells)
    answer = next(name for name in ANSWER if name in cells)
    for name in (question, answer):
        if not cells[name].strip():
            msg = f"{where}: {name}: is blank: every row needs {question} and {answer}"
            raise TaskError(msg)
    return Task(
        id=_field(where, cells, "id", check_task_id, lambda: _name(cells[question], seen)),
        prompt=cells[question],
        answer=cells[answer].strip(),
        scorer=ScorerSpec(_field(where, cells, "scorer", str, lambda: "exact_match")),
        split=_field(where, cells, "split", _split, lambda: None),
        group=_field(where, cells, "group", _group, str),
        weight=_field(where, cells, "weight", _weight, lambda: 1.0),
        protect=_field(where, cells, "protect", _flag, bool),
    )


def _field(
    where: str, cells: Mapping[str, str], name: str, parse: Callable[[str], Any], default: Callable[[], Any]
) -> Any:
    text = cells.get(name, "").strip()
    if not text:
        return default()
    try:
        return parse(text)
    except ValueError as error:
        raise TaskError(f"{where}: {name}: {error}") from error


def _name(question: str, seen: dict[str, int]) -> str:
    """`q-…` after the question; a question that is there again is counted on."""
    name = "q-" + hashlib.sha256(" ".join(question.split()).encode()).hexdigest()[:12]
    seen[name] = number = seen.get(name, 0) + 1
    return name if number == 1 else f"{name}-{number}"


def _split(text: str) -> Split:
    if text.lower() not in _SPLITS:
        msg = f"{text[:40]!r} is no split: use train, selection or test"
        raise ValueError(msg)
    return _SPLITS[text.lower()]


def _group(text: str) -> str:
    if len(text) > 200:
        msg = "is longer than 200 characters"
        raise ValueError(msg)
    return text


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight <= MAX_WEIGHT:
        msg = f"{text[:40]!r} is no number above 0 and up to {MAX_WEIGHT:.0f}"
        raise ValueError(msg)
    return weight


def _flag(text: str) -> bool:
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if text.lower() not in known:
        msg = f"{text[:40]!r} is neither true nor false"
        raise ValueError(msg)
    return known[text.lower()]
