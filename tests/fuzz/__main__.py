"""Fuzz: executions per target; 1 if anything but a stated error came out, or if time or memory had no bound."""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.fuzz.gigabyte import gigabytes
from tests.fuzz.registry import every_target
from tests.fuzz.runner import Told
from tests.fuzz.work import work


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help="names; all unless given")
    parser.add_argument("--list", action="store_true", help="print the names and what each reads")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target (60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2, help="targets at a time, each in a process of its own (2)")
    parser.add_argument("--gigabyte", action="store_true", help="instead: read sessions of 1 GB, and print the memory")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    asked = parser().parse_args(argv)
    if asked.gigabyte:
        return gigabytes()
    known = {one.name: one for one in every_target()}
    if wrong := [name for name in asked.targets if name not in known]:
        print(f"no target is called {' or '.join(wrong)}; --list names them", file=sys.stderr)
        return 2
    names = asked.targets or sorted(known)
    if asked.list:
        print(*(f"{name:18} {known[name].what}" for name in names), sep="\n")
        return 0
    job = partial(work, seconds=asked.seconds, seed=asked.seed)
    failed = 0
    print(f"{'target':18} {'executions':>11} {'refused':>10} {'a second':>9} {'grown MB':>9}  {'':5}")
    with multiprocessing.get_context("spawn").Pool(asked.workers, maxtasksperchild=1) as pool:
        for told in pool.imap(job, names):
            failed += bool(told.wrong)
            print(_line(told), flush=True)
    return 1 if failed else 0


def _line(told: Told) -> str:
    rate = told.executions / max(told.wall_s, 0.001)
    line = f"{told.name:18} {told.executions:11,} {told.refused:10,} {rate:9,.0f} {told.grown_mb:9.0f}"
    if not told.wrong:
        return f"{line}  ok"
    kept = Path(tempfile.gettempdir()) / f"fuzz-{told.name}-{hashlib.sha256(told.input).hexdigest()[:12]}"
    kept.write_bytes(told.input)
    return f"{line}  WRONG: {told.wrong[:500]} (input: {kept})"


if __name__ == "__main__":
    raise SystemExit(main())
