"""Mathematical equivalence by math-verify, in the bounded process: algebra has no bound of its own.

The gold is read first and said to be readable, so that whatever ends the process afterwards is the answer's doing.
math-verify's own time limits are off: it sets them with `signal.alarm`, and the process has one already.
"""

from __future__ import annotations

import logging
import re
import signal
from collections.abc import Callable, Mapping
from typing import Any

_MARKED = re.compile(r"\\boxed|\$|\\\(|\\\[")
_PROSE = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3,}\s+[A-Za-z]{2,}")


def warm() -> None:
    """Load the library, which takes a second, and say nothing of its time limits being off."""
    from math_verify import parse  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra

    logging.disable(logging.CRITICAL)
    parse("$x$", parsing_timeout=None)


def math_verify(request: Mapping[str, Any], say: Callable[..., None]) -> Mapping[str, Any]:
    """`equal`: whether `answer` means one of `golds`; `unread` gives the first gold in which nothing can be read.

    What is no expression to math-verify ("62.5%", a word) it compares as text.
    """
    from math_verify import verify  # noqa: PLC0415

    golds = [_parsed(gold) for gold in request["golds"]]
    unread = [gold for gold, parsed in zip(request["golds"], golds, strict=True) if not parsed]
    if unread:
        return {"unread": unread[0]}
    say(golds=True)
    signal.setitimer(signal.ITIMER_PROF, request["answer_cpu_s"])
    answer = _parsed(request["answer"])
    equal = any(bool(verify(gold, answer, timeout_seconds=None)) for gold in golds)
    return {"equal": equal, "readable": bool(answer)}


def _parsed(text: str) -> list[Any]:
    """What a text means. Mathematics without marks is read as a whole; in prose math-verify looks for it."""
    from math_verify import parse  # noqa: PLC0415

    whole = text if _MARKED.search(text) or _PROSE.search(text) else rf"\boxed{{{text}}}"
    parsed: list[Any] = parse(whole, parsing_timeout=None)
    return parsed
