"""`evals/evals.json` of skill-creator: prompts with a described outcome and assertions, for a judge model.

`{"skill_name": …, "evals": [{"id", "prompt", "expected_output", "files", "assertions"}]}`; `expectations` is another
name of `assertions`. Paths of files count from the skill's folder, which holds `evals/`. An eval may carry honed's own
keys, `scorer` and `answer` among them: then no judge is needed. Errors name file, eval and key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from daemon.tasks.formats.found import Found, attempt
from daemon.tasks.formats.paths import check_task_id, host_file, workspace_path
from daemon.tasks.task import MAX_WEIGHT, ScorerSpec, Split, Task, TaskError

JUDGED = "rubric"
"""The scorer of evals that name none."""


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Eval(BaseModel):
    """One entry of `evals`. Keys of other tools are left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    id: Annotated[str, BeforeValidator(_text)]
    prompt: str = Field(min_length=1)
    expected_output: str = ""
    files: list[str] = Field(default_factory=list)
    assertions: list[Annotated[str, Field(min_length=1, max_length=4_000)]] = Field(
        default_factory=list, validation_alias=AliasChoices("assertions", "expectations", "expected_behavior")
    )
    scorer: str | dict[str, JsonValue] | None = None
    answer: JsonValue = None
    split: Split | None = None
    group: str = Field(default="", max_length=200)
    weight: float = Field(default=1.0, gt=0, le=MAX_WEIGHT, allow_inf_nan=False)
    protect: bool = False


def is_evals(data: object) -> bool:
    """Whether parsed JSON is such a file."""
    return isinstance(data, dict) and isinstance(data.get("evals"), list)


def scan_evals(file: Path) -> Iterator[Found]:
    """Every eval's task or fault, in order; raises `TaskError` if the file is none."""
    try:
        data = json.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        msg = f"{file}: cannot be read ({error.strerror}): check [tasks] path"
        raise TaskError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{file}: is not JSON in UTF-8: {error}"
        raise TaskError(msg) from error
    if not is_evals(data):
        msg = f'{file}: evals: is missing: write {{"skill_name": …, "evals": [{{"id": 1, "prompt": …}}]}}'
        raise TaskError(msg)
    for number, plain in enumerate(data["evals"]):
        where = f"{file}: evals[{number}]"
        yield attempt(where, partial(_task, where, file, plain))


def _task(where: str, file: Path, plain: object) -> Task:
    try:
        row = Eval.model_validate(plain)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "entry"
        raise TaskError(f"{where}: {key}: {first['msg']}") from error
    folder = file.parent.parent if file.parent.name == "evals" else file.parent
    try:
        key = "id"
        check_task_id(row.id)
        key = "files"
        files = {workspace_path(path): host_file(folder, path) for path in row.files}
    except ValueError as error:
        raise TaskError(f"{where}: {key}: {error}") from error
    if not row.prompt.strip():
        msg = f"{where}: prompt: is blank: say what the agent is to do"
        raise TaskError(msg)
    return Task(
        id=row.id,
        prompt=row.prompt,
        scorer=_scorer(where, row),
        answer=row.answer,
        files=files,
        split=row.split,
        group=row.group,
        weight=row.weight,
        protect=row.protect,
    )


def _scorer(where: str, row: Eval) -> ScorerSpec:
    if isinstance(row.scorer, str):
        return ScorerSpec(row.scorer)
    if isinstance(row.scorer, dict):
        options = dict(row.scorer)
        name = options.pop("name", None)
        if not isinstance(name, str):
            msg = f"{where}: scorer: needs a name"
            raise TaskError(msg)
        return ScorerSpec(name, options)
    stated = {f"assertion {number}": text for number, text in enumerate(row.assertions, start=1)}
    if not stated and row.expected_output.strip():
        stated = {"expected output": row.expected_output}
    if not stated:
        msg = f"{where}: assertions: there are none, and no expected_output: nothing says what is right"
        raise TaskError(msg)
    return ScorerSpec(JUDGED, {"criteria": [{"name": name, "text": text} for name, text in stated.items()]})
