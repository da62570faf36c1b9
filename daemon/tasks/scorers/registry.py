"""Scorers by name, their options checked at load time, and the one call that scores a result.

`score_task` is the boundary: whatever goes wrong inside leaves it as `VerifierError`, and feedback without gold.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

import structlog
from pydantic import ValidationError

from daemon.tasks.feedback import without_gold
from daemon.tasks.scorers.anls import ANLS
from daemon.tasks.scorers.choice import MULTIPLE_CHOICE
from daemon.tasks.scorers.commands import COMMAND_CHECKS
from daemon.tasks.scorers.episode import EPISODE_WON
from daemon.tasks.scorers.files import FILE_CHECKS
from daemon.tasks.scorers.json_checks import JSON_CHECKS
from daemon.tasks.scorers.mathematics import MATH_EQUAL
from daemon.tasks.scorers.numeric import NUMERIC
from daemon.tasks.scorers.officeqa import OFFICEQA
from daemon.tasks.scorers.plugins import load_plugin, plugin_names
from daemon.tasks.scorers.regex import REGEX
from daemon.tasks.scorers.rubric import RUBRIC
from daemon.tasks.scorers.scorer import Context, Result, Scorer, ScorerKind, VerifierError
from daemon.tasks.scorers.script import TEST_SCRIPT
from daemon.tasks.scorers.spreadsheet import SPREADSHEET_CELLS
from daemon.tasks.scorers.substring import SUBSTRING
from daemon.tasks.scorers.text import EXACT_MATCH, TOKEN_F1
from daemon.tasks.task import Score, ScorerSpec, Task, TaskError

log = structlog.get_logger(__name__)

SCORERS: MappingProxyType[str, ScorerKind[Any]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            EXACT_MATCH,
            TOKEN_F1,
            SUBSTRING,
            NUMERIC,
            OFFICEQA,
            ANLS,
            MULTIPLE_CHOICE,
            MATH_EQUAL,
            REGEX,
            JSON_CHECKS,
            FILE_CHECKS,
            COMMAND_CHECKS,
            SPREADSHEET_CELLS,
            TEST_SCRIPT,
            RUBRIC,
            EPISODE_WON,
        )
    }
)


def scorer_kind(spec: ScorerSpec) -> ScorerKind[Any]:
    """The kind that a spec names, honed's own or a plug-in's; raises `TaskError` listing the names there are."""
    if spec.name in SCORERS:
        return SCORERS[spec.name]
    if spec.name in plugin_names():
        return load_plugin(spec.name)
    names = ", ".join(sorted({*SCORERS, *plugin_names()}))
    msg = f"scorer: there is no scorer {spec.name!r}: use one of {names}"
    raise TaskError(msg)


def needs_sandbox(task: Task) -> bool:
    """Whether scoring the task takes a box."""
    kind = scorer_kind(task.scorer)
    return kind.needs_sandbox or bool(kind.parse(dict(task.scorer.options)).boxed)


def needs_judge(task: Task) -> bool:
    """Whether scoring the task takes a judge model."""
    return scorer_kind(task.scorer).needs_judge


def check_scorer(task: Task) -> None:
    """Raise `TaskError` if the task's scorer, its options or what it needs of the task is wrong, of any step."""
    for step in task.steps:
        try:
            check_scorer(task.at(step))
        except TaskError as error:
            raise TaskError(f"step {step.name}: {error}") from error
    if task.steps:
        return
    kind = scorer_kind(task.scorer)
    try:
        kind.check(task, kind.parse(dict(task.scorer.options)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "options"
        msg = f"scorer.{key}: {_plain(first['msg'])}: {kind.name} takes {', '.join(kind.options.model_fields)}"
        raise TaskError(msg) from error
    except ValueError as error:
        raise TaskError(str(error)) from error


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ")


def build_scorer(spec: ScorerSpec, context: Context | None = None) -> Scorer:
    """A ready scorer; raises `TaskError` for a wrong name or option."""
    kind = scorer_kind(spec)
    try:
        options = kind.parse(dict(spec.options))
    except ValidationError as error:
        msg = f"scorer {spec.name}: {error.errors(include_url=False)[0]['msg']}"
        raise TaskError(msg) from error
    return kind.build(options, context or Context())


async def score_task(task: Task, result: Result, context: Context | None = None) -> Score:
    """Score one result. Raises only `VerifierError` (the attempt is invalid) and `CancelledError`."""
    if task.steps:
        msg = f"task {task.id}: is done in steps, and each is scored by itself: only attempts that honed runs can be"
        raise VerifierError(msg)
    try:
        score = await build_scorer(task.scorer, context).score(task, result)
    except VerifierError:
        raise
    # The boundary: a bug or a full disk while scoring must not look like a bad answer.
    except Exception as error:
        log.exception("scorer_failed", task=task.id, scorer=task.scorer.name)
        msg = f"task {task.id}: scorer {task.scorer.name} failed: {type(error).__name__}: {error}"
        raise VerifierError(msg) from error
    if not (math.isfinite(score.value) and 0.0 <= score.value <= 1.0):
        msg = f"task {task.id}: scorer {task.scorer.name} gave {score.value!r}, which is no score from 0 to 1"
        raise VerifierError(msg)
    return without_gold(score, task)
