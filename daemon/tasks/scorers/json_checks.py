"""`json_checks`: the answer, or a file, is JSON that fits a JSON schema and holds what path checks ask for.

`value` is the share of what holds (the schema counts as one, each check as one), `hard` all of it.
"""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic import Field, JsonValue, field_validator

from daemon.tasks.formats.paths import inside_path
from daemon.tasks.scorers.bounded import CPU_S, TEXT
from daemon.tasks.scorers.extract import ExtractOptions, extract_answer
from daemon.tasks.scorers.jsonpath import parse_path
from daemon.tasks.scorers.patterns import check_pattern
from daemon.tasks.scorers.scorer import Context, Options, Result, Scorer, ScorerKind, VerifierError, left_out
from daemon.tasks.task import Score, Task

MAX_BYTES = 1024 * 1024
"""Of a JSON file."""
TOLD = 5
"""Faults named in a feedback."""
_FENCED = re.compile(r"```[A-Za-z0-9]{0,10}[ \t]*\n(.*?)```", re.DOTALL)

Bound = float | int


class JsonCheck(Options):
    """What must hold of the values that a path leads to: of each of them, and of at least one unless `count` is 0."""

    path: str
    exists: bool = True
    equals: JsonValue = None
    """Compared only where it is given; `null` may be."""
    tolerance: float = Field(default=0.0, ge=0, le=1, allow_inf_nan=False)
    """Relative, of numbers within `equals`."""
    type: Literal["object", "array", "string", "number", "integer", "boolean", "null"] | None = None
    matches: str | None = None
    min: Bound | None = None
    max: Bound | None = None
    length: int | None = Field(default=None, ge=0)
    """Of a text, list or object."""
    count: int | None = Field(default=None, ge=0)
    """How many values the path leads to."""

    @field_validator("path")
    @classmethod
    def _leads(cls, path: str) -> str:
        parse_path(path)
        return path

    @field_validator("matches")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        return None if pattern is None else check_pattern(pattern)

    def asked(self) -> dict[str, Any]:
        """What was set, for the worker."""
        return {"exists": self.exists, "tolerance": self.tolerance, **self.model_dump(exclude_unset=True)}


class JsonOptions(ExtractOptions):
    """Options of `json_checks`."""

    fallback: Literal["all", "last_line"] = "all"
    file: str | None = None
    """A file in the workspace; None: the last message, where the last fenced block counts if the whole is no JSON."""
    json_schema: dict[str, JsonValue] | None = None
    checks: tuple[JsonCheck, ...] = Field(default=(), strict=False)

    @field_validator("file")
    @classmethod
    def _inside(cls, path: str | None) -> str | None:
        return None if path is None else inside_path(path)

    @field_validator("json_schema")
    @classmethod
    def _is_schema(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema is None:
            return None
        from jsonschema.exceptions import SchemaError  # noqa: PLC0415 - large, and few tasks have a schema
        from jsonschema.validators import validator_for  # noqa: PLC0415

        try:
            validator_for(schema).check_schema(schema)
        except SchemaError as error:
            place = ".".join(str(part) for part in error.absolute_path)
            msg = f"is no JSON schema: {place}: {error.message}"[:300]
            raise ValueError(msg) from error
        return schema


class JsonScorer:
    """Checks in the bounded process."""

    def __init__(self, options: JsonOptions) -> None:
        self._options = options

    async def score(self, task: Task, result: Result) -> Score:
        """Score the document; raises `VerifierError` if a pattern of the task does not come to an end."""
        options = self._options
        subject = options.file or "the answer"
        text, why = await self._text(result)
        if why:
            return Score(value=0.0, hard=False, feedback=why)
        checks = [check.asked() for check in options.checks]
        reply = await TEXT.ask("check_json", text=text, schema=options.json_schema, checks=checks)
        if reply.death:
            msg = f"task {task.id}: checking {subject} took over {CPU_S:g} s: make the schema and its patterns simpler"
            raise VerifierError(msg)
        said = reply.result
        if "unread" in said:
            return Score(value=0.0, hard=False, feedback=f"{subject} {said['unread']}")
        return self._score(said["faults"], said["checks"])

    async def _text(self, result: Result) -> tuple[str, str]:
        """The document's text, or why there is none."""
        file = self._options.file
        if file is None:
            text = _unfenced(await extract_answer(result.final_answer, self._options))
            return text, "" if text else "no answer was given"
        data = result.workspace.files.get(file)
        if data is None:
            return "", left_out(file, result) or f"the file {file} is missing"
        if len(data) > MAX_BYTES:
            return "", f"{file} has over {MAX_BYTES} bytes"
        try:
            return data.decode("utf-8-sig"), ""
        except UnicodeDecodeError:
            return "", f"{file} is not UTF-8"

    def _score(self, faults: list[str], outcomes: list[str]) -> Score:
        parts = list(faults)
        for check, why in zip(self._options.checks, outcomes, strict=True):
            if why:
                parts.append(f"{check.path} {why}")
        asked = len(outcomes) + (self._options.json_schema is not None)
        failed = sum(bool(why) for why in outcomes) + bool(faults)
        more = f" (and {len(parts) - TOLD} more)" if len(parts) > TOLD else ""
        return Score(
            value=(asked - failed) / asked,
            hard=not failed,
            feedback="; ".join(parts[:TOLD]) + more,
            detail={"faults": faults, "checks": outcomes},
        )


def _unfenced(text: str) -> str:
    """The text itself if it may be JSON, else its last fenced block, else the text."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        blocks = _FENCED.findall(text)
        return blocks[-1].strip() if blocks else text
    return text


def _check(task: Task, options: JsonOptions) -> None:
    if options.json_schema is None and not options.checks:
        msg = "scorer.checks: give json_schema, or at least one check"
        raise ValueError(msg)


def _build(options: JsonOptions, context: Context) -> Scorer:
    return JsonScorer(options)


JSON_CHECKS = ScorerKind("json_checks", 1, JsonOptions, _check, _build)
