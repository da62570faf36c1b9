"""Runs under faults against the same runs without: a line each, a summary, and exit code 1 if anything differs.

Each seed makes a project and trains it twice: without a fault, and with 10 % of the requests to the model and 5 % of
the sandboxes failing. Decisions, trees, commit messages with their costs, gate tables and the score of each attempt
must be the same; dates and seconds alone are not compared.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import multiprocessing
import time
from collections import Counter

from tests.faults.pair import Pair, Rates, one
from tests.faults.project import Plan


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="seeded runs (100)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--docker", type=int, default=0, help="of the runs, how many drive Codex in Docker (0)")
    parser.add_argument("--model", type=float, default=0.10, help="share of model requests that fail (0.10)")
    parser.add_argument("--sandbox", type=float, default=0.05, help="share of sandboxes that fail (0.05)")
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time (2)")
    parser.add_argument("--keep", action="store_true", help="keep the folders of runs that differ")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    asked = parser().parse_args(argv)
    plans = [Plan.of(seed, docker=number < asked.docker) for number, seed in _numbered(asked.seed, asked.runs)]
    rates, began = Rates(asked.model, asked.sandbox), time.monotonic()
    pairs: list[Pair] = []
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(asked.jobs, mp_context=context) as pool:
        waiting = [pool.submit(one, plan, rates, asked.keep) for plan in plans]
        for done in concurrent.futures.as_completed(waiting):
            pairs.append(done.result())
            print(f"[{len(pairs)}/{len(plans)}] {pairs[-1].line}", flush=True)
            for line in pairs[-1].differences[:10]:
                print(f"    {line}", flush=True)
    print(_summary(pairs, time.monotonic() - began))
    return 0 if all(pair.equal for pair in pairs) else 1


def _numbered(first: int, runs: int) -> list[tuple[int, int]]:
    return list(enumerate(range(first, first + runs)))


def _summary(pairs: list[Pair], wall_s: float) -> str:
    total = Counter[str]()
    for pair in pairs:
        total += pair.counts
    rows = [f"{name:28} {total[name]:>7}" for name in sorted(total)]
    equal = sum(pair.equal for pair in pairs)
    return "\n".join([*rows, f"{equal} of {len(pairs)} runs equal, {wall_s:.0f} s"])


if __name__ == "__main__":
    raise SystemExit(main())
