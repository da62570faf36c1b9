"""The process in which workbooks are parsed: `python -m daemon.tasks.scorers.xlsx_worker REQUEST.json`.

A hostile workbook may cost this process its memory or time, and nothing else. It prints one JSON object a line:
`{"stage": "gold"}` once the gold is read, so that whatever kills it afterwards is the output's doing, then the result.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon.tasks.scorers.compare import GoldError, compare, read_gold
from daemon.tasks.scorers.ranges import parse_ranges
from daemon.tasks.scorers.xlsx import WorkbookError


@dataclass(frozen=True)
class Request:
    """What to compare, and what it may cost. Our own data, and a dataclass: the process starts for every score."""

    gold: str
    output: str
    range: str
    memory_bytes: int
    cpu_s: int
    """CPU seconds for the output, or ten times what the gold took if that is more."""


def run(request: Request) -> None:
    """Compare and print; what the output did wrong is a result, a bad gold as well (the caller tells them apart)."""
    resource.setrlimit(resource.RLIMIT_AS, (request.memory_bytes, request.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ranges = parse_ranges(request.range)
    began = time.process_time()
    try:
        gold = read_gold(Path(request.gold).read_bytes(), ranges)
    except (GoldError, MemoryError) as error:
        _say("bad_gold", why=str(error) or "the gold workbook needs more memory than the scorer has")
        return
    used = time.process_time()
    _say("gold")
    limit = int(used + max(request.cpu_s, 10 * (used - began))) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))  # SIGXCPU at the first, SIGKILL at the second
    try:
        comparison = compare(Path(request.output).read_bytes(), ranges, gold)
    except WorkbookError as error:
        _say("bad_output", why=str(error))
    except MemoryError:
        _say("bad_output", why="is too large to be read")
    else:
        _say(
            "done",
            cells=comparison.cells,
            wrong=comparison.wrong,
            feedback=comparison.feedback,
            samples=comparison.samples,
        )


def _say(stage: str, **rest: Any) -> None:
    print(json.dumps({"stage": stage, **rest}), flush=True)


if __name__ == "__main__":
    run(Request(**json.loads(Path(sys.argv[1]).read_bytes())))
