"""Soak the daemon: progress to stderr, a table to stdout, `soak.*` into `.bench/results.json`; 1 if a check fails."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from sandboxes.image.recipe import SANDBOX_IMAGE
from tests.benchmarks.results import RESULTS, merge_write, table
from tests.soak.engine import OwnEngine, why_not
from tests.soak.report import acts_table, results_of
from tests.soak.soak import Outcome, Plan, soak


def parser() -> argparse.ArgumentParser:
    """The command line."""
    plan = Plan()
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--attempts", type=int, default=plan.attempts, help=f"simulated attempts ({plan.attempts})")
    parser.add_argument("--minutes", type=float, default=plan.minutes, help=f"at most ({plan.minutes:g})")
    parser.add_argument("--seed", type=int, default=plan.seed)
    parser.add_argument("--without-engine", action="store_true", help="no project in Docker, no engine restarts")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Entry point; the folder is kept where something is wrong."""
    asked = parser().parse_args(argv)
    plan = Plan(
        attempts=asked.attempts,
        calm=asked.attempts // 2,
        warm_up=asked.attempts // 10,
        minutes=asked.minutes,
        seed=asked.seed,
    )
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    outcome = _with_engine(folder, plan, why_not(SANDBOX_IMAGE) or ("not asked for" if asked.without_engine else ""))
    print(acts_table(outcome))
    results = results_of(outcome)
    print(table(results))
    merge_write(results, RESULTS)
    if outcome.faults:
        print(f"\n{len(outcome.faults)} faults; the evidence is kept in {folder}:", *outcome.faults, sep="\n")
        return 1
    shutil.rmtree(folder)
    return 0


def _with_engine(folder: Path, plan: Plan, missing: str) -> Outcome:
    if missing:
        _say(f"without a project in Docker and engine restarts: {missing}")
        outcome = soak(folder, plan, _say)
        outcome.left_out = missing
        return outcome
    engine = OwnEngine(folder / "engine")
    try:
        engine.start()
        engine.load(SANDBOX_IMAGE)
        return soak(folder, plan, _say, engine=engine)
    finally:
        engine.stop()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
