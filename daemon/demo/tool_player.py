"""The simulated target as a chat model with tools: it runs one script on a workbook, or searches and reads documents.

As everywhere it acts on what it is told alone. Of a document it reads a page around the best place that its search
found, and answers from the pages that it has read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from daemon.demo.bench_target import answer_benchmark
from daemon.demo.conversation import Call, Conversation, Reply
from daemon.demo.planner import script
from daemon.demo.rules import read_habits
from daemon.demo.wordings import OUTPUT, read_request

_LISTED = re.compile(r"^  (.+) \(([\d,]+) bytes\)$", re.MULTILINE)
_PLACE = re.compile(r"^(.+), offset (\d+): ", re.MULTILINE)
_YEAR = re.compile(r"\b(?:18|19|20)\d\d\b")
_BEFORE, _PAGE = 2_000, 6_000


def work_with_tools(conversation: Conversation) -> Reply:
    """The next turn."""
    prompt = "\n".join(conversation.texts)
    request = read_request(prompt) if "run_python" in conversation.tools else None
    if request is None:
        return _read(conversation, prompt)
    if not conversation.calls:
        code = script(request, read_habits(conversation.system))
        return Reply("I will do it with a short script.", (Call("run_python", {"code": code}),))
    told = conversation.calls[-1].output or ""
    if not told.startswith("exit code 0"):
        return Reply("I could not finish the task: the script failed.")
    said = told.splitlines()[1:2]
    return Reply(f"Done: {said[0] if said else 'the script ran'}. The result is in {OUTPUT}.")


def _read(conversation: Conversation, prompt: str) -> Reply:
    """Search each document for the year that is asked about, read there, and answer from what was read."""
    if len(conversation.calls) < 2 * len(_documents(prompt)):
        path = _documents(prompt)[len(conversation.calls) // 2]
        return Reply("", (_next(path, conversation.calls, prompt),))
    pages = "\n".join(call.output or "" for call in conversation.calls if call.name == "read_file")
    said = answer_benchmark(f"{prompt}\n{pages}", conversation.images, conversation.system)
    return Reply(said or "I do not understand what the task asks for.")


def _documents(prompt: str) -> list[str]:
    """The first few files of the list in the opening."""
    return [found[1] for found in _LISTED.finditer(prompt)][:3]


def _next(path: str, calls: tuple[Call, ...], prompt: str) -> Call:
    if len(calls) % 2 == 0:
        years = _YEAR.findall(prompt.replace(path, ""))
        return Call("search_text", {"query": years[0] if years else "table", "path": path})
    offset = next(_offsets(calls[-1].output or ""), 0)
    return Call("read_file", {"path": path, "offset": max(0, offset - _BEFORE), "length": _PAGE})


def _offsets(found: str) -> Iterator[int]:
    for place in _PLACE.finditer(found):
        yield int(place[2])
