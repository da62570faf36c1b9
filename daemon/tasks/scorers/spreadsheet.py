"""`spreadsheet_cells`: the answer is a range of cells in a workbook that the agent left in its workspace.

`value` is the share of cells right, `hard` all of them (the official SpreadsheetBench rule, see `cells`). A workbook
that cannot be read scores 0 and says so: it is the agent's. Only the gold, or this machine, can make it invalid.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import Field, field_validator

import daemon
from daemon.tasks.scorers.ranges import parse_ranges
from daemon.tasks.scorers.recalculate import recalculated
from daemon.tasks.scorers.scorer import Context, Options, Result, Scorer, ScorerKind, VerifierError, left_out
from daemon.tasks.task import Score, Task

MEMORY_BYTES = 3 * 1024**3
"""Address space of the process that parses workbooks."""
_OUTPUTS_DOING = (-signal.SIGXCPU, -signal.SIGSEGV, -signal.SIGABRT)
"""Deaths of the worker that come of what it reads: its CPU time is up, or the parser crashed."""


class SpreadsheetOptions(Options):
    """Options of `spreadsheet_cells`."""

    output: str
    """The workbook's path in the workspace."""
    gold: str
    """Its counterpart among the task's tests."""
    range: str
    """`Sheet!A1:B3`, several separated by commas; without a sheet: the gold's first one."""
    cpu_s: int = Field(default=60, ge=1, le=3600)
    """CPU seconds that reading the output may take (or ten times the gold's, if that is more)."""
    recalculate: bool = False
    """Have LibreOffice compute the output's formulas first, in a box, where it is installed there."""

    @property
    def boxed(self) -> bool:
        """As `Options.boxed`."""
        return self.recalculate

    @field_validator("range")
    @classmethod
    def _parses(cls, text: str) -> str:
        parse_ranges(text)
        return text

    @field_validator("output")
    @classmethod
    def _inside(cls, path: str) -> str:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or str(PurePosixPath(path)) != path:
            msg = "is not a plain path inside the workspace, such as report.xlsx"
            raise ValueError(msg)
        return path


class SpreadsheetScorer:
    """Compares in a process of its own, bounded in memory and time."""

    def __init__(self, options: SpreadsheetOptions, context: Context) -> None:
        self._options = options
        self._context = context

    async def score(self, task: Task, result: Result) -> Score:
        """Score the output workbook; raises `VerifierError` if the gold or the machine fails."""
        options = self._options
        data = result.workspace.files.get(options.output)
        if data is None:
            return Score(value=0.0, hard=False, feedback=_missing(options.output, result))
        note = ""
        if options.recalculate:
            data, note = await recalculated(task, options.output, data, self._context)
        replies, code = await self._compare(task, data)
        last = replies[-1] if replies else {}
        if last.get("stage") == "done":
            return _score(last, note)
        if last.get("stage") == "bad_output":
            return Score(value=0.0, hard=False, feedback=f"{options.output} {last['why']}")
        if last.get("stage") == "bad_gold":
            msg = f"task {task.id}: {last['why']} (tests file {options.gold})"
            raise VerifierError(msg)
        if last.get("stage") == "gold" and code in _OUTPUTS_DOING:
            return Score(value=0.0, hard=False, feedback=f"{options.output} cannot be read within bounds")
        msg = f"task {task.id}: the workbook reader ended with {code} and no result"
        raise VerifierError(msg)

    async def _compare(self, task: Task, data: bytes) -> tuple[list[dict[str, Any]], int]:
        gold = task.tests[self._options.gold]
        with tempfile.TemporaryDirectory(prefix="honed-xlsx-", dir=self._context.folder) as scratch:
            output, request = Path(scratch, "output.xlsx"), Path(scratch, "request.json")
            await asyncio.to_thread(output.write_bytes, data)
            asked = {
                "gold": str(gold),
                "output": str(output),
                "range": self._options.range,
                "memory_bytes": MEMORY_BYTES,
                "cpu_s": self._options.cpu_s,
            }
            await asyncio.to_thread(request.write_text, json.dumps(asked))
            return await _run_worker(request, task)


async def _run_worker(request: Path, task: Task) -> tuple[list[dict[str, Any]], int]:
    """Run the worker to its end. The wall clock is ours (the machine may be busy): running out of it is our failure."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-s", "-m", "daemon.tasks.scorers.xlsx_worker", str(request)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.defpath, "PYTHONPATH": str(Path(daemon.__file__).parent.parent), "LANG": "C.UTF-8"},
    )
    try:
        async with asyncio.timeout(task.verifier_timeout_s):
            out, err = await process.communicate()
    except TimeoutError as error:
        msg = (
            f"task {task.id}: comparing the workbooks took over {task.verifier_timeout_s:g} s: raise verifier_timeout_s"
        )
        raise VerifierError(msg) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    code = process.returncode
    assert code is not None
    if code > 0:
        last = err.decode(errors="replace").strip().splitlines()[-1:]
        msg = f"task {task.id}: the workbook reader failed: {' '.join(last)}"
        raise VerifierError(msg)
    return [json.loads(line) for line in out.splitlines()], code


def _missing(output: str, result: Result) -> str:
    found = left_out(output, result)
    if found:
        return found
    others = [path for path in result.workspace.files if path.lower().endswith((".xlsx", ".xlsm", ".xls"))]
    return f"the output file {output} is missing" + (f"; there is {', '.join(others[:5])}" if others else "")


def _score(reply: dict[str, Any], note: str) -> Score:
    cells, wrong = reply["cells"], reply["wrong"]
    return Score(
        value=(cells - wrong) / cells,
        hard=wrong == 0,
        feedback=reply["feedback"],
        detail={"cells": cells, "wrong": wrong, "samples": reply["samples"], **({"note": note} if note else {})},
    )


def _check(task: Task, options: SpreadsheetOptions) -> None:
    if options.gold not in task.tests:
        msg = f"tests: has no file {options.gold!r}, which scorer option gold names"
        raise ValueError(msg)


def _build(options: SpreadsheetOptions, context: Context) -> Scorer:
    return SpreadsheetScorer(options, context)


SPREADSHEET_CELLS = ScorerKind("spreadsheet_cells", 1, SpreadsheetOptions, _check, _build)
