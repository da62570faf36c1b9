"""The results file `.bench/results.json`: name -> {value, unit, n}, shared by all benchmarks.

Writing keeps the entries of benchmarks that were not run, and replaces the file in one step: it is never half written.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

RESULTS = Path(__file__).parents[2] / ".bench" / "results.json"


class ResultsError(Exception):
    """The file is there but is no results file; `str()` names it and the remedy."""


@dataclass(frozen=True)
class Result:
    """One figure."""

    value: float
    unit: str
    """`s`, `1/min`, `ratio` (to the bare CLI), `score` (0..1), `points` (hundredths of a score), `steps`, ..."""
    n: int
    """How many measurements it stands on."""
    note: str = ""
    """For people, in the table alone: the range, the two medians."""

    def entry(self) -> dict[str, Any]:
        """As in the file."""
        return {"value": round(self.value, 4), "unit": self.unit, "n": self.n}


def merge_write(results: Mapping[str, Result], path: Path = RESULTS) -> None:
    """Put `results` into the file at `path`, beside what is there; names are sorted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        entries = _read(path) | {name: result.entry() for name, result in results.items()}
        _replace(path, json.dumps(dict(sorted(entries.items())), indent=2) + "\n")


def table(results: Mapping[str, Result]) -> str:
    """The results for people, a line each."""
    width = max(map(len, results), default=0)
    lines = (
        f"{name:<{width}}  {result.value:>9.3f} {result.unit:<6} n={result.n:<3} {result.note}".rstrip()
        for name, result in results.items()
    )
    return "\n".join(lines)


def _read(path: Path) -> dict[str, Any]:
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        message = f"{path} is not JSON ({error}): delete it, or mend it"
        raise ResultsError(message) from error
    if not isinstance(entries, dict):
        message = f"{path} is no object of results: delete it, or mend it"
        raise ResultsError(message)
    return entries


def _replace(path: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
