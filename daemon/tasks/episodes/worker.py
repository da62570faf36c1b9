"""The process of one game: `python -m daemon.tasks.episodes.worker ENGINE FILE`, one JSON object a line both ways.

In: `{"op": "reset"}` or `{"op": "step", "command": "…"}`. Out: a `Turn`, or `{"fault": "…"}`, after which it ends. It
ends, too, when nobody listens any more.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

from daemon.tasks.episodes.engines import load

MEMORY_BYTES = 4 * 1024**3


def serve(engine: str, file: Path, requests: Iterable[str], say: Callable[[object], None]) -> None:
    """Play until there are no more requests."""
    try:
        game = load(engine, file)
        for line in requests:
            request = json.loads(line)
            turn = game.reset() if request["op"] == "reset" else game.step(request["command"])
            say(asdict(turn))
    # The boundary: whatever the engine raises is told to the parent, which makes the attempt invalid.
    except Exception as error:
        say({"fault": f"{type(error).__name__}: {error}"[:500]})


def main() -> None:
    """Keep the pipe for turns alone: what engines print goes nowhere."""
    engine, file = sys.argv[1:3]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def say(what: object) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    serve(engine, Path(file), sys.stdin, say)


if __name__ == "__main__":
    main()
