"""Load a task set from disk: one call finds the format, checks every task, decides the splits and seals the test.

A set that loads can be run: every file is there, every scorer has what it needs, no id is taken twice, and no task
of one split gives the same work as a task of another.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from daemon.tasks.digest import task_digest, work_digest
from daemon.tasks.formats.harbor import is_harbor, read_harbor
from daemon.tasks.formats.jsonl import read_jsonl
from daemon.tasks.scorers.registry import check_scorer, scorer_kind
from daemon.tasks.splits import decide_splits
from daemon.tasks.task import Task, TaskError, TaskSet


def load_tasks(
    path: Path, *, split_ratio: tuple[int, int, int] = (4, 1, 5), seed: int = 42, min_selection: int = 4
) -> TaskSet:
    """The set at `path`: a tasks.jsonl, a folder that holds one, or a folder of Harbor tasks.

    `split_ratio` (train : selection : test) and `seed` count only if no task has a split of its own. Blocks: reads
    every file of the set. Raises `TaskError`.
    """
    placed = _read(path)
    if not placed:
        msg = f"{path}: holds no task: add one line a task"
        raise TaskError(msg)
    _check_unique_ids(placed)
    for where, task in placed:
        try:
            check_scorer(task)
        except TaskError as error:
            raise TaskError(f"{where}: {error}") from error
    try:
        tasks = decide_splits([task for _, task in placed], ratio=split_ratio, seed=seed, min_selection=min_selection)
    except TaskError as error:
        raise TaskError(f"{path}: {error}") from error
    _check_leaks(tasks, {task.id: where for where, task in placed})
    digested = (replace(task, digest=task_digest(task, scorer_version=_version(task))) for task in tasks)
    return TaskSet(tasks=tuple(digested), source=path)


def _version(task: Task) -> int:
    return scorer_kind(task.scorer).version


def _read(path: Path) -> list[tuple[str, Task]]:
    if path.is_file():
        return read_jsonl(path)
    if (path / "tasks.jsonl").is_file():
        return read_jsonl(path / "tasks.jsonl")
    if path.is_dir() and is_harbor(path):
        return read_harbor(path)
    what = "is neither a tasks.jsonl nor a folder of Harbor tasks (task.toml)" if path.exists() else "does not exist"
    msg = f"{path}: {what}: set [tasks] path"
    raise TaskError(msg)


def _check_unique_ids(placed: Sequence[tuple[str, Task]]) -> None:
    seen: dict[str, str] = {}
    for where, task in placed:
        # Folders and journals may not tell upper from lower case.
        key = task.id.casefold()
        if key in seen:
            msg = f"{where}: id: {task.id!r} is taken by {seen[key]}: give each task its own id"
            raise TaskError(msg)
        seen[key] = where


def _check_leaks(tasks: Sequence[Task], where: dict[str, str]) -> None:
    """Refuse the same work in two splits: what train teaches would be measured as if it were new."""
    by_work = sorted((work_digest(task), task.id, task.split) for task in tasks)
    for (work, first, split), (other_work, second, other_split) in itertools.pairwise(by_work):
        if work == other_work and split != other_split:
            msg = (
                f"{where[second]}: task {second} ({other_split}) has the same prompt and files as {first} ({split}, "
                f"{where[first]}): remove one, or give both the same split"
            )
            raise TaskError(msg)
