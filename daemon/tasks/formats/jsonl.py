"""`tasks.jsonl`: one task a line, as a JSON object.

Keys: id, prompt, scorer, files, answer, tests, solution, tools, split, group, weight, protect, network, timeout_s,
verifier_timeout_s. Every error names file, line and key. A byte-order mark, CRLF line ends and blank lines are
tolerated. Lines are read one by one and may be read again from their place, so a set's size is bounded by the disk,
not by memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from daemon.tasks.formats.found import Found, Span, attempt
from daemon.tasks.formats.paths import check_task_id, clashing, host_file, inside_path, workspace_path
from daemon.tasks.task import MAX_WEIGHT, SOLVE, Network, ScorerSpec, Split, Task, TaskError
from harnesses.harness import ChatTools, ToolSet
from harnesses.traces.text import one_line

MAX_LINE_BYTES = 16 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


def _id(value: Any) -> Any:
    """Ids may be whole numbers: public sets mix them with texts."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _mapping(value: Any) -> Any:
    """A list of paths means that each file keeps its path."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        if len(set(value)) < len(value):
            msg = "names a file twice"
            raise ValueError(msg)
        return {item: item for item in value}
    return value


Files = Annotated[dict[str, str], BeforeValidator(_mapping)]
Seconds = Annotated[float, Field(gt=0, le=7 * 86_400, allow_inf_nan=False)]


class ToolsRow(BaseModel):
    """`tools` of a line."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: ToolSet
    turns: int = Field(default=ChatTools.turns, ge=1, le=1000)


def _tools(value: Any) -> Any:
    """A name alone stands for the tools of that name with the usual number of turns."""
    return {"name": value} if isinstance(value, str) else value


class Row(BaseModel):
    """One line, before its files are looked for."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: Annotated[str, BeforeValidator(_id)]
    prompt: str = Field(min_length=1)
    scorer: str | dict[str, JsonValue]
    files: Files = Field(default_factory=dict)
    answer: JsonValue = None
    tests: Files = Field(default_factory=dict)
    solution: str | Files = Field(default_factory=dict)
    tools: Annotated[ToolsRow | None, BeforeValidator(_tools)] = None
    split: Split | None = None
    group: str = Field(default="", max_length=200)
    weight: float = Field(default=1.0, gt=0, le=MAX_WEIGHT, allow_inf_nan=False)
    protect: bool = False
    network: Network = "none"
    timeout_s: Seconds = 600.0
    verifier_timeout_s: Seconds = 120.0


def scan_jsonl(file: Path) -> Iterator[Found]:
    """Every line's task or fault, in order; raises `TaskError` if the file cannot be read."""
    try:
        with file.open("rb") as stream:
            yield from _lines(file, stream)
    except OSError as error:
        msg = f"{file}: cannot be read ({error.strerror}): check [tasks] path"
        raise TaskError(msg) from error


def read_line(file: Path, span: Span) -> Task:
    """The task of one line again; raises `TaskError` as the scan does, and `OSError`."""
    with file.open("rb") as stream:
        stream.seek(span.start)
        return _parse(file, span.line, stream.read(span.size))


def _lines(file: Path, stream: BinaryIO) -> Iterator[Found]:
    start, number = stream.tell(), 0
    while line := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        size = len(line)
        while not line.endswith(b"\n") and (rest := stream.readline(MAX_LINE_BYTES)):
            size += len(rest)  # too long: counted, and not kept
            if rest.endswith(b"\n"):
                break
        if (line.removeprefix(_BOM) if number == 1 else line).strip():
            yield attempt(f"{file}:{number}", partial(_parse, file, number, line), Span(start, size, number))
        start += size


def _parse(file: Path, number: int, line: bytes) -> Task:
    where = f"{file}:{number}"
    return _task(where, file.parent, _row(where, line.removeprefix(_BOM) if number == 1 else line))


def _row(where: str, line: bytes) -> Row:
    if len(line) > MAX_LINE_BYTES:
        msg = f"{where}: the line is longer than {MAX_LINE_BYTES} bytes: put large content into files"
        raise TaskError(msg)
    try:
        plain = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        msg = f"{where}: is not UTF-8 (byte {error.start + 1}): save the file as UTF-8"
        raise TaskError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{where}: is not one JSON object on one line: {error}"
        raise TaskError(msg) from error
    if not isinstance(plain, dict):
        msg = f"{where}: is a JSON {type(plain).__name__}: each line must be an object with id, prompt and scorer"
        raise TaskError(msg)
    try:
        return Row.model_validate(plain)
    except ValidationError as error:
        raise TaskError(f"{where}: {_first(error)}") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        names = [name for name, _ in pairs]
        msg = f"key {next(name for name in names if names.count(name) > 1)!r} is there twice"
        raise ValueError(msg)
    return plain


def _no_constant(name: str) -> float:
    msg = f"{name} is not JSON"
    raise ValueError(msg)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant)


def _first(error: ValidationError) -> str:
    """The first of pydantic's complaints as one line with key and remedy."""
    errors = error.errors(include_url=False)
    first = errors[0]
    key = one_line(".".join(str(part) for part in first["loc"]), 200)
    text = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        known = ToolsRow.model_fields if first["loc"][0] == "tools" else Row.model_fields
        text = f"unknown key: use {', '.join(known)}"
    elif first["type"] == "missing" and len(first["loc"]) == 1:
        text = "is missing: every task needs id, prompt and scorer"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{key}: {text}{more}"


def _task(where: str, folder: Path, row: Row) -> Task:
    try:
        check_task_id(row.id)
    except ValueError as error:
        raise TaskError(f"{where}: id: {error}") from error
    if not row.prompt.strip():
        msg = f"{where}: prompt: is blank: say what the agent is to do"
        raise TaskError(msg)
    if not _finite(row.answer):
        msg = f"{where}: answer: holds a number that is not finite"
        raise TaskError(msg)
    return Task(
        id=row.id,
        prompt=row.prompt,
        scorer=_scorer(where, row.scorer),
        files=_files(f"{where}: files", folder, row.files, shown=True),
        answer=row.answer,
        tests=_files(f"{where}: tests", folder, row.tests, shown=False),
        solution=_solution(f"{where}: solution", folder, row.solution),
        reply=row.solution if isinstance(row.solution, str) else None,
        split=row.split,
        group=row.group,
        weight=row.weight,
        protect=row.protect,
        network=row.network,
        timeout_s=row.timeout_s,
        verifier_timeout_s=row.verifier_timeout_s,
        tools=_chat_tools(where, row),
    )


def _chat_tools(where: str, row: Row) -> ChatTools | None:
    if row.tools is None:
        return None
    if row.tools.name == "files" and not row.files:
        raise TaskError(f"{where}: tools: the task has no files to use them on: add files, or leave tools out")
    return ChatTools(row.tools.name, row.tools.turns)


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(_finite(item) for item in value.values())
    return all(_finite(item) for item in value) if isinstance(value, list) else True


def _scorer(where: str, scorer: str | dict[str, Any]) -> ScorerSpec:
    if isinstance(scorer, str):
        return ScorerSpec(name=scorer)
    name = scorer.get("name")
    if not isinstance(name, str):
        msg = f'{where}: scorer: needs a name: write "scorer": {{"name": "numeric", "tolerance": 0.01}}'
        raise TaskError(msg)
    return ScorerSpec(name=name, options={key: value for key, value in scorer.items() if key != "name"})


def _solution(where: str, folder: Path, solution: str | Mapping[str, str]) -> dict[str, Path]:
    """The script with what it needs, or the files that a right agent leaves; none where the solution is a text."""
    if isinstance(solution, str):
        if not solution.strip():
            msg = f"{where}: is blank: write what a right agent says, or name files"
            raise TaskError(msg)
        return {}
    script = SOLVE in solution
    deeper = next((path for path in solution if path.rpartition("/")[2] == SOLVE), None)
    if deeper is not None and not script:
        msg = f'{where}: {deeper!r} is not run: write {{"{SOLVE}": "{solution[deeper]}"}}'
        raise TaskError(msg)
    return _files(where, folder, solution, shown=not script)


def _files(where: str, folder: Path, files: Mapping[str, str], *, shown: bool) -> dict[str, Path]:
    if not files:
        return {}
    found = {}
    for path, source in files.items():
        try:
            (workspace_path if shown else inside_path)(path)
            found[path] = host_file(folder, source)
        except ValueError as error:
            raise TaskError(f"{where}: {error}") from error
    clash = clashing(list(found))
    if clash is not None:
        msg = f"{where}: {clash!r} is both a file and a folder"
        raise TaskError(msg)
    return found
