"""Run benchmarks: progress to stderr, a table (or JSON) to stdout, results into `.bench/results.json`."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable

import structlog

from harnesses.clis import CliError
from sandboxes.sandbox import SandboxError
from tests.benchmarks.ablations import ablations
from tests.benchmarks.bare import BenchError
from tests.benchmarks.daemon import daemon_figures
from tests.benchmarks.gate import gate
from tests.benchmarks.loading import loading
from tests.benchmarks.log import log
from tests.benchmarks.no_op_runs import no_op_runs
from tests.benchmarks.notices import notices
from tests.benchmarks.results import RESULTS, Result, ResultsError, merge_write, table
from tests.benchmarks.sandbox import attempts_per_min, overhead
from tests.benchmarks.startup import startup

Say = Callable[[str], None]
Benchmark = Callable[[int, Say], Awaitable[dict[str, Result]]]
BENCHMARKS: dict[str, Benchmark] = {
    "honed.startup_s": startup,
    "honed.log": log,
    "sandbox.overhead_s": overhead,
    "sandbox.attempts_per_min": attempts_per_min,
    "gate": gate,
    "ablation": ablations,
    "no_op_runs": no_op_runs,
    "tasks": loading,
    "notices": notices,
    "daemon": daemon_figures,
}
"""By the first words of the names of their results."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run (all): {', '.join(BENCHMARKS)}")
    parser.add_argument("--n", type=_positive, default=9, help="measurements each way (9)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Entry point; 0 if every benchmark asked for was measured."""
    asked = parser().parse_args(argv)
    if unknown := [name for name in asked.names if name not in BENCHMARKS]:
        print(f"no benchmark {', '.join(unknown)}: choose of {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    try:
        results = asyncio.run(_measure(asked.names or list(BENCHMARKS), asked.n))
    except (BenchError, CliError, SandboxError, ResultsError) as error:
        print(f"not measured: {error}", file=sys.stderr)
        return 1
    entries = {name: result.entry() for name, result in results.items()}
    print(json.dumps(entries, indent=2) if asked.json else table(results))
    return 0


async def _measure(names: list[str], n: int) -> dict[str, Result]:
    """Run them one after the other; each one's results are written as soon as they are there."""
    results: dict[str, Result] = {}
    for name in names:
        made = await BENCHMARKS[name](n, _say)
        merge_write(made, RESULTS)
        results |= made
    return results


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("give a number from 1")
    return number


if __name__ == "__main__":
    raise SystemExit(main())
