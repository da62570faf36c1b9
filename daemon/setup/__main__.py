"""`python -m daemon.setup`: what `make setup` runs; `honed setup` is the same."""

from __future__ import annotations

import asyncio
import sys

from daemon.setup.setup import set_up, summary


def main() -> int:
    """Set up this machine; 0 also where a fallback is used, since that was said aloud."""
    report = asyncio.run(set_up(lambda line: print(f"setup: {line}", file=sys.stderr, flush=True)))
    for line in summary(report):
        print(f"setup: {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
