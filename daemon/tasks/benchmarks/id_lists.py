"""Published id lists: `<data>/splits/<benchmark>/{train,val,test}/items.json`, as the method's repository has them.

Invariant: lists count as published only if their digest is the one that this project knows (`tasks.published`), so a
list that was changed or cut is refused, never taken for it.
"""

from __future__ import annotations

from pathlib import Path

from daemon.tasks.benchmarks.reading import json_rows
from daemon.tasks.published import PUBLISHED, task_id
from daemon.tasks.task import Split, TaskError, split_digest

FOLDERS: dict[str, Split] = {"train": "train", "val": "selection", "test": "test"}


def published_split(title: str, folder: Path) -> dict[str, Split] | None:
    """Each task id's split, or None where no list lies in `folder`; raises `TaskError` if it is not the published one.

    `title` is the benchmark's key in `PUBLISHED`.
    """
    if title not in PUBLISHED or not folder.is_dir():
        return None
    splits: dict[str, Split] = {}
    for name, split in FOLDERS.items():
        for row in json_rows(folder / name / "items.json"):
            one = task_id(str(row.get("id", "")))
            if one in splits:
                raise TaskError(f"{folder}: {one!r} is there twice: fetch the lists again")
            splits[one] = split
    found = split_digest(splits.items())
    if found != PUBLISHED[title]:
        raise TaskError(
            f"{folder}: these are not the published lists of {title} (digest {found}, not {PUBLISHED[title]}): fetch "
            "them again, or give --ratio to split by ratio"
        )
    return splits
