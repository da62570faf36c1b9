"""Try every attack: progress to stderr, the table to stdout; 1 if one is broken or could not be tried."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import sys
from pathlib import Path

from sandboxes.engine_client import ENGINE_ERRORS, address, connected
from sandboxes.sandbox import SandboxError
from tests.hostile.attack import Attack
from tests.hostile.registry import every_attack
from tests.hostile.table import as_json, into_page, markdown, summary
from tests.hostile.trial import Tried, Verdict, attempt

PAGE = Path(__file__).parents[2] / "docs" / "security.md"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("names", nargs="*", help="attacks or areas; all unless given")
    parser.add_argument("--list", action="store_true", help="print the names and what each does")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--write", action="store_true", help=f"put the table into docs/{PAGE.name} too")
    parser.add_argument("--workers", type=int, default=2, help="attacks at a time (2)")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    asked = parser().parse_args(argv)
    attacks = every_attack()
    if asked.names:
        attacks = tuple(one for one in attacks if one.name in asked.names or one.area.value in asked.names)
    if not attacks:
        print(f"no attack or area is called {' or '.join(asked.names)}; --list names them", file=sys.stderr)
        return 2
    if asked.list:
        print(*(f"{one.area.value:13} {one.name:48} {one.attack}" for one in attacks), sep="\n")
        return 0
    with contextlib.redirect_stdout(sys.stderr):  # what the attacked log and print is not part of the table
        tried = asyncio.run(_all(attacks, asked.workers))
    when, engine = datetime.datetime.now(datetime.UTC).date().isoformat(), _engine()
    print((as_json if asked.json else markdown)(tried, when=when, engine=engine))
    if asked.write:
        PAGE.write_text(into_page(PAGE.read_text(), markdown(tried, when=when, engine=engine)))
    print(summary(tried), file=sys.stderr)
    return 0 if all(one.verdict is Verdict.HELD for one in tried) else 1


async def _all(attacks: tuple[Attack, ...], workers: int) -> list[Tried]:
    free = asyncio.Semaphore(workers)
    done = 0

    async def one(each: Attack) -> Tried:
        nonlocal done
        async with free:
            tried = await attempt(each)
        done += 1
        told = f"[{done}/{len(attacks)}] {tried.verdict.value:9} {each.area.value}/{each.name} {tried.wall_s:.1f} s"
        print(told + (f": {tried.observed}" if tried.verdict is not Verdict.HELD else ""), file=sys.stderr, flush=True)
        return tried

    return list(await asyncio.gather(*(one(each) for each in attacks)))


def _engine() -> str:
    try:
        with connected(address()) as client:
            version = client.version()
    except (SandboxError, *ENGINE_ERRORS) as error:
        return f"no Docker engine ({error})"
    return f"Docker engine {version['Version']}, Linux {version['KernelVersion']}"


if __name__ == "__main__":
    raise SystemExit(main())
