"""A person accepts a draft: it becomes a task of the set, under its own id, in the split that they say.

Invariants: a draft whose verifier is the stub, or that is no right task, is refused and left as it is; the set's
files are changed last, each whole or not at all. Blocks.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon.inbox.drafts import DRAFT, STUB, Drafts
from daemon.tasks.formats.harbor import scan_harbor
from daemon.tasks.formats.source import open_source
from daemon.tasks.load import Read, read_set
from daemon.tasks.manifest import make_manifest, read_manifest, write_manifest
from daemon.tasks.scorers.registry import check_scorer
from daemon.tasks.task import Split, Task, TaskError

_BY_RATIO = "its split is decided anew by [tasks] split, like that of all tasks: tasks may change their split"


@dataclass(frozen=True)
class Accepted:
    """What came of it."""

    id: str
    place: Path
    """The task's folder in the set, or the set's file."""
    split: Split | None
    """None: by ratio."""
    note: str = ""


def accept(path: Path, draft: str, split: Split | None = None) -> Accepted:
    """Make a draft a task of the set at `path`.

    `split`: where the tasks have one of their own or a manifest (default train). Raises `TaskError`.
    """
    drafts = Drafts(path)
    kept = drafts.find(draft)
    if not kept.verified:
        msg = (
            f"{kept.folder / 'tests' / 'test.sh'}: is still the stub: write a verifier and remove the line with {STUB}"
        )
        raise TaskError(msg)
    read = _set_of(path)
    decided = _split(read, split)
    with tempfile.TemporaryDirectory(prefix=".accepting-", dir=drafts.folder) as made:
        staged = Path(made) / kept.id
        shutil.copytree(kept.folder, staged, symlinks=True, ignore=shutil.ignore_patterns("README.md", DRAFT))
        own = decided if read.manifest is None else None
        staged.joinpath("task.toml").write_text(_toml(kept.folder / DRAFT, own), encoding="utf-8")
        task = _checked(staged)
        place = _add(read, task, staged, own)
    if read.manifest is not None and decided is not None:
        splits = {**read_manifest(read.manifest).splits, kept.id: decided}
        write_manifest(read.manifest, make_manifest(splits), force=True)
    shutil.rmtree(kept.folder)
    return Accepted(kept.id, place, decided, "" if decided else _BY_RATIO)


@dataclass(frozen=True)
class _Set:
    path: Path
    file: Path | None
    """tasks.jsonl; None: a folder of task folders."""
    ids: frozenset[str]
    own: bool
    """The tasks have splits of their own."""
    manifest: Path | None


def _set_of(path: Path) -> _Set:
    if path.is_dir() and not any(path.glob("*/task.toml")) and not _has_file(path):
        return _Set(path, None, frozenset(), own=False, manifest=None)  # the first task of an empty folder
    read: Read = read_set(path)
    if read.source.format not in ("jsonl", "harbor"):
        msg = (
            f"{read.source.path}: a set of this format takes no test script: keep tasks in a tasks.jsonl or in folders"
        )
        raise TaskError(msg)
    return _Set(
        path,
        read.source.path if read.source.format == "jsonl" else None,
        frozenset(one.casefold() for one in read.columns.ids),
        own=any(read.columns.splits),
        manifest=read.manifest if read.manifest.is_file() else None,
    )


def _has_file(path: Path) -> bool:
    try:
        return open_source(path).path.is_file()
    except TaskError:
        return False


def _split(found: _Set, split: Split | None) -> Split | None:
    if found.own or found.manifest is not None:
        return split or "train"
    if split is not None and found.ids:
        msg = f"{found.path}: the set is split by [tasks] split: write the split down with `honed tasks split` first"
        raise TaskError(msg)
    return split


def _toml(file: Path, split: Split | None) -> str:
    text = file.read_text(encoding="utf-8")
    if split is None:
        return text
    head, found, rest = text.partition("[metadata]\n")
    return f'{head}{found}split = "{split}"\n{rest}' if found else f'{text}\n[metadata]\nsplit = "{split}"\n'


def _checked(folder: Path) -> Task:
    """The draft as a task, from its staged copy."""
    [found] = scan_harbor(folder)
    if found.error is not None:
        raise TaskError(str(found.error).replace(str(folder), folder.name))
    assert found.task is not None, "a find is a task or a fault"
    check_scorer(found.task)
    return found.task


def _add(found: _Set, task: Task, staged: Path, split: Split | None) -> Path:
    """Put the task into the set."""
    folder = (found.path if found.file is None else found.file.parent) / task.id
    if task.id.casefold() in found.ids or folder.exists():
        msg = f"{folder}: there is such a task, or such a folder: rename the draft's folder"
        raise TaskError(msg)
    if found.file is None:
        staged.rename(folder)
        return folder
    if task.environment is not None:
        msg = f"{task.id}: a line of tasks.jsonl names no image: keep tasks with a Dockerfile in folders of their own"
        raise TaskError(msg)
    row = _row(task, staged, split)
    staged.rename(folder)
    try:
        _append(found.file, row)
    except OSError:
        shutil.rmtree(folder)
        raise
    return found.file


def _row(task: Task, staged: Path, split: Split | None) -> dict[str, Any]:
    def below(files: Any) -> dict[str, str]:
        return {path: f"{task.id}/{source.relative_to(staged).as_posix()}" for path, source in files.items()}

    defaults = Task(id=task.id, prompt=task.prompt, scorer=task.scorer)
    scorer = {"name": task.scorer.name, **task.scorer.options} if task.scorer.options else task.scorer.name
    row: dict[str, Any] = {"id": task.id, "prompt": task.prompt, "scorer": scorer, "tests": below(task.tests)}
    row |= {"files": below(task.files)} if task.files else {}
    row |= {"solution": below(task.solution)} if task.solution else {}
    row |= {"split": split} if split else {}
    for key in ("group", "weight", "protect", "timeout_s", "verifier_timeout_s"):
        if (value := getattr(task, key)) != getattr(defaults, key):
            row[key] = value
    return row


def _append(file: Path, row: dict[str, Any]) -> None:
    """One more line, by a new file in the old one's place."""
    old = file.read_bytes()
    line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
    staged = file.with_name(f".{file.name}.part")
    staged.write_bytes(old + (b"" if not old or old.endswith(b"\n") else b"\n") + line)
    staged.chmod(file.stat().st_mode & 0o777)
    staged.replace(file)
