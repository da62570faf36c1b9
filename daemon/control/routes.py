"""What can be asked, and how a desk answers it. Knows requests and answers as data, no HTTP.

Invariant: every answer and every fault is one JSON object with the daemon's version; a fault is one of a closed set.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog

from daemon.control.errors import ErrorKind
from daemon.control.wire import to_data
from daemon.service.desk import DeskError

if TYPE_CHECKING:
    from daemon.service.desk import Desk

log = structlog.get_logger(__name__)

PATH_CHARS = 4096
WORD_CHARS = 500
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
"""What no file name holds, and halves of a character, which JSON can say and UTF-8 cannot."""
JOBS = 1_000
"""Most jobs in one answer."""


class BadRequest(Exception):  # noqa: N818 - an answer, not a fault of ours
    """What was asked is none of what can be asked."""

    def __init__(self, kind: ErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind


@dataclass(frozen=True)
class Asked:
    """One request."""

    number: int
    """Of the job in its path; 0 where there is none."""
    query: Mapping[str, str]
    body: Mapping[str, Any]

    def text(self, name: str, most: int, *, needed: bool = False) -> str:
        """A text of the body; raises `BadRequest`."""
        value = self.body.get(name, "")
        if not isinstance(value, str) or len(value) > most or _NO_TEXT.search(value) or (needed and not value):
            raise BadRequest("bad-request", f"`{name}` must be a text of at most {most} characters")
        return value

    def flag(self, name: str) -> bool:
        """A yes or no of the body; raises `BadRequest`."""
        value = self.body.get(name, False)
        if not isinstance(value, bool):
            raise BadRequest("bad-request", f"`{name}` must be true or false")
        return value

    def count(self, name: str, default: int) -> int:
        """A whole number of the query, from 0; raises `BadRequest`."""
        value = self.query.get(name, str(default))
        if not re.fullmatch(r"[0-9]{1,15}", value, re.ASCII):
            raise BadRequest("bad-request", f"`{name}` must be a whole number from 0")
        return int(value)


Answer = Callable[["Desk", Asked], Awaitable[dict[str, Any]]]


async def _status(desk: Desk, _asked: Asked) -> dict[str, Any]:
    return {"status": await desk.status()}


async def _jobs(desk: Desk, asked: Asked) -> dict[str, Any]:
    return {"jobs": await desk.jobs(min(asked.count("newest", 20), JOBS))}


async def _explain(desk: Desk, asked: Asked) -> dict[str, Any]:
    return {"explanation": await desk.explain(asked.number)}


async def _train(desk: Desk, asked: Asked) -> dict[str, Any]:
    after = desk.events.newest  # before the job, so that whoever follows from here misses nothing of it
    return {"job": await desk.train(asked.text("file", PATH_CHARS, needed=True)), "after": after}


async def _pause(desk: Desk, asked: Asked) -> dict[str, Any]:
    await desk.pause(asked.text("project", WORD_CHARS), asked.text("reason", WORD_CHARS))
    return {}


async def _resume(desk: Desk, asked: Asked) -> dict[str, Any]:
    await desk.resume(asked.text("project", WORD_CHARS))
    return {}


async def _cancel(desk: Desk, asked: Asked) -> dict[str, Any]:
    return {"job": await desk.cancel(asked.number, hard=asked.flag("hard"))}


async def _retry(desk: Desk, asked: Asked) -> dict[str, Any]:
    return {"job": await desk.retry(asked.number)}


async def _reload(desk: Desk, _asked: Asked) -> dict[str, Any]:
    await desk.reload()
    return {}


EVENTS = "/events"
ROUTES: tuple[tuple[str, str, Answer], ...] = (
    ("GET", "/status", _status),
    ("GET", "/jobs", _jobs),
    ("GET", "/jobs/{number}", _explain),
    ("POST", "/train", _train),
    ("POST", "/pause", _pause),
    ("POST", "/resume", _resume),
    ("POST", "/jobs/{number}/cancel", _cancel),
    ("POST", "/jobs/{number}/retry", _retry),
    ("POST", "/reload", _reload),
)
_FORMS = tuple((method, re.compile(form.replace("{number}", "([0-9]{1,15})")), do) for method, form, do in ROUTES)


def find(method: str, path: str) -> tuple[Answer, int]:
    """Who answers, and the job's number in the path; raises `BadRequest`."""
    found = [(row_method, match, do) for row_method, form, do in _FORMS if (match := form.fullmatch(path))]
    if not found:
        raise BadRequest(
            "not-found", f"no such page: there is {', '.join(sorted({EVENTS, *(row[1] for row in ROUTES)}))}"
        )
    for row_method, match, do in found:
        if row_method == method:
            return do, int(match[1]) if match.groups() else 0
    raise BadRequest("not-allowed", f"this page takes {' or '.join(row[0] for row in found)}")


async def answer(desk: Desk, do: Answer, asked: Asked) -> dict[str, Any]:
    """The desk's answer as JSON-able data; raises `BadRequest` for whatever else comes of it."""
    try:
        found: dict[str, Any] = to_data(await do(desk, asked))
    except DeskError as error:
        raise BadRequest("refused", str(error)) from error
    except BadRequest:
        raise
    except Exception as error:
        log.exception("a question at the control socket met a fault of honed")
        raise BadRequest("internal", f"a fault of honed: {type(error).__name__} (its log says more)") from error
    return found
