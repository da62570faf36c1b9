"""Which format lies at a path, and how it is read: once through, and again task by task where it is one big file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from daemon.tasks.benchmarks.as_source import bench_name, scan_bench
from daemon.tasks.formats.csv_rows import read_row, scan_csv
from daemon.tasks.formats.evals import scan_evals
from daemon.tasks.formats.found import Found, Span
from daemon.tasks.formats.harbor import is_harbor, scan_harbor
from daemon.tasks.formats.jsonl import read_line, scan_jsonl
from daemon.tasks.formats.plugin import PREFIX, plugin_name, scan_plugin
from daemon.tasks.task import Task, TaskError

KNOWN = (
    f"is neither a tasks.jsonl nor a folder of tasks (tasks.csv, evals.json or Harbor's task.toml), nor {PREFIX}NAME "
    "or bench:NAME"
)
_IN_FOLDER = ("tasks.jsonl", "tasks.csv", "evals.json", "evals/evals.json")


@dataclass(frozen=True)
class Source:
    """A task set as it lies on disk."""

    path: Path
    """What is read: a file, or a folder of folders."""
    format: str
    """`jsonl`, `csv`, `evals`, `harbor`, `python` or `bench`."""
    scan: Callable[[], Iterator[Found]]
    read: Callable[[Span, str], Task] | None = None
    """One task again, by its span and id; None where a set is held in memory."""

    @property
    def size(self) -> int:
        """Bytes of the file; 0 where the set is none."""
        return self.path.stat().st_size if self.path.is_file() else 0


def open_source(path: Path) -> Source:
    """The set at `path`; raises `TaskError` naming the formats there are. Reads nothing yet."""
    name = plugin_name(path)
    if name is not None:
        return Source(path, "python", partial(scan_plugin, name))
    bench = bench_name(path)
    if bench is not None:
        return Source(path, "bench", partial(scan_bench, bench, path.parent))
    if path.is_file():
        return _of_file(path)
    inside = next((path / name for name in _IN_FOLDER if (path / name).is_file()), None)
    if inside is not None:
        return _of_file(inside)
    if path.is_dir() and is_harbor(path):
        return Source(path, "harbor", partial(scan_harbor, path))
    what = KNOWN if path.exists() else "does not exist"
    msg = f"{path}: {what}: set [tasks] path"
    raise TaskError(msg)


def _of_file(file: Path) -> Source:
    suffix = file.suffix.lower()
    if suffix in (".csv", ".tsv"):
        return Source(file, "csv", partial(scan_csv, file), partial(read_row, file))
    if suffix == ".json":
        return Source(file, "evals", partial(scan_evals, file))
    return Source(file, "jsonl", partial(scan_jsonl, file), lambda span, _: read_line(file, span))
