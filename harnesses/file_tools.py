"""What a chat model may do with a task's files: list them, read a part of one, search their text.

Invariants: files are found by their names in a mapping, so no path leaves it; nothing is changed; every answer is
bounded. What a model passes is hostile data: a call that cannot be made is answered in words, and never raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harnesses.episode import Tool, ToolResult
from harnesses.traces.text import encodable, one_line
from harnesses.workspace import plain_path

READ_CHARS = 12_000
"""Of one file, in one call."""
FOUND, FOUND_CHARS = 40, 300
"""Places that one search shows, and of the line around each."""
LISTED = 200
QUERY_CHARS = 200
PATH_CHARS = 1_000
SEARCHED_BYTES = 64 * 1024 * 1024
"""Of all files together, in one search."""
_NUMBER = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}
TOOLS = (
    Tool("list_files", "List the task's files with their sizes."),
    Tool(
        "read_file",
        f"Read a text file, at most {READ_CHARS} characters at a time.",
        {
            "type": "object",
            "properties": {
                "path": {**_TEXT, "description": "As list_files gives it."},
                "offset": {**_NUMBER, "description": "Where to begin, in characters (0)."},
                "length": {**_NUMBER, "description": f"How many characters ({READ_CHARS})."},
            },
            "required": ["path"],
        },
    ),
    Tool(
        "search_text",
        "Find a text in the files, upper and lower case being one. Each place comes with its offset for read_file.",
        {
            "type": "object",
            "properties": {
                "query": {**_TEXT, "description": f"The text itself, not a pattern; at most {QUERY_CHARS} characters."},
                "path": {**_TEXT, "description": "Only in this file (all)."},
            },
            "required": ["query"],
        },
    ),
)


class BadCall(Exception):  # noqa: N818 - the model's doing, and told to it
    """A call cannot be made; `str()` says why, for the model."""


def use_files(files: Mapping[str, bytes], tool: str, arguments: Mapping[str, Any]) -> ToolResult:
    """What one of `TOOLS` answers (blocks: a search reads all files)."""
    try:
        match tool:
            case "list_files":
                return ToolResult("\n".join(listed(files)) or "there are no files")
            case "read_file":
                return ToolResult(_read(files, arguments))
            case "search_text":
                return ToolResult(_search(files, arguments))
        return ToolResult(f"there is no tool {one_line(tool, 60)!r}", ok=False)
    except BadCall as error:
        return ToolResult(str(error), ok=False)


def listed(files: Mapping[str, bytes]) -> Iterator[str]:
    """A line for each file; of very many the first."""
    for path in sorted(files)[:LISTED]:
        yield f"{path} ({len(files[path]):,} bytes)"
    if len(files) > LISTED:
        yield f"and {len(files) - LISTED} more"


def text_argument(arguments: Mapping[str, Any], key: str, most: int) -> str:
    """A text that must be there; raises `BadCall`."""
    value = arguments.get(key)
    if not isinstance(value, str) or not value.strip():
        raise BadCall(f"{key} must be a text")
    if len(value) > most:
        raise BadCall(f"{key} is longer than {most} characters")
    return encodable(value)


def _number(arguments: Mapping[str, Any], key: str, default: int) -> int:
    value = arguments.get(key)
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadCall(f"{key} must be a whole number, 0 or more")
    return value


def _named(files: Mapping[str, bytes], arguments: Mapping[str, Any]) -> tuple[str, str]:
    """The path and text of the file that a call names."""
    path = plain_path(text_argument(arguments, "path", PATH_CHARS))
    if path not in files:
        raise BadCall(f"there is no file {one_line(path, 100)!r}: list_files gives the names")
    text = text_of(files[path])
    if text is None:
        raise BadCall(f"{path} is no text ({len(files[path]):,} bytes)")
    return path, text


def text_of(data: bytes) -> str | None:
    """A file as text; None if it is none."""
    if b"\0" in data:
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _read(files: Mapping[str, bytes], arguments: Mapping[str, Any]) -> str:
    path, text = _named(files, arguments)
    start = _number(arguments, "offset", 0)
    length = min(_number(arguments, "length", READ_CHARS) or READ_CHARS, READ_CHARS)
    if start >= len(text) > 0:
        raise BadCall(
            f"offset {start if start < 10**12 else 'given'} is behind the end: {path} has {len(text)} characters"
        )
    part = text[start : start + length]
    return f"{path}, characters {start} to {start + len(part)} of {len(text)}:\n{part}"


def _search(files: Mapping[str, bytes], arguments: Mapping[str, Any]) -> str:
    query = text_argument(arguments, "query", QUERY_CHARS)
    chosen: Mapping[str, bytes] = files
    if arguments.get("path") is not None:
        path, _ = _named(files, arguments)
        chosen = {path: files[path]}
    shown: list[str] = []
    for path, offset, line in _places(chosen, _small(query)):
        if len(shown) == FOUND:
            shown.append(f"there are more: only the first {FOUND} are shown")
            break
        shown.append(f"{path}, offset {offset}: {line}")
    return "\n".join(shown) or f"{one_line(query, 100)!r} is in no text file"


def _places(files: Mapping[str, bytes], query: str) -> Iterator[tuple[str, int, str]]:
    """Path, offset and surroundings of each place, one a line of text."""
    left = SEARCHED_BYTES
    for path in sorted(files):
        left -= len(files[path])
        text = text_of(files[path]) if left >= 0 else None
        small = _small(text or "")
        at = small.find(query)
        while text is not None and at >= 0:
            yield path, at, _around(text, at, at + len(query))
            end = small.find("\n", at + len(query))
            at = -1 if end < 0 else small.find(query, end)


def _small(text: str) -> str:
    """In lower case, with every character where it was. Finding a plain text takes time linear in what is searched."""
    return text.replace("\u0130", "i").lower()  # the one character whose lower case is longer


def _around(text: str, start: int, end: int) -> str:
    """The line that a place is in, cut around it."""
    first = max(text.rfind("\n", 0, start) + 1, start - FOUND_CHARS // 2)
    line_end = text.find("\n", end)
    last = min(len(text) if line_end < 0 else line_end, first + FOUND_CHARS)
    return one_line(text[first:last], FOUND_CHARS)
