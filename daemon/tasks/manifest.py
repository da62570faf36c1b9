"""A split written down: which id is in which split, beside the set, with a digest of the lists.

Invariant: a manifest decides for every task of its set or is refused; nothing is filled in. Lists that were changed by
hand no longer match their digest and are refused too, so that a report's digest names what was measured.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from daemon.tasks.splits import SPLITS
from daemon.tasks.task import Split, TaskError, split_digest

REMEDY = "write it anew with `honed tasks split --force`"


class SplitManifest(BaseModel):
    """The file. Ids are sorted within each split."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: Literal[1] = 1
    digest: str
    ratio: str = ""
    """How it was made, for people; empty where the lists were given."""
    seed: int | None = None
    train: list[str]
    selection: list[str]
    test: list[str]

    @property
    def splits(self) -> dict[str, Split]:
        """Each id's split; raises `TaskError` for an id that is there twice."""
        decided: dict[str, Split] = {}
        for name in SPLITS:
            for one in getattr(self, name):
                if one in decided:
                    msg = f"{one!r} is there twice ({decided[one]} and {name})"
                    raise TaskError(msg)
                decided[one] = name
        return decided


def make_manifest(splits: Mapping[str, Split], *, ratio: str = "", seed: int | None = None) -> SplitManifest:
    """The manifest of these splits."""

    def of(name: Split) -> list[str]:
        return sorted(one for one, split in splits.items() if split == name)

    return SplitManifest(
        digest=split_digest(splits.items()),
        ratio=ratio,
        seed=seed,
        train=of("train"),
        selection=of("selection"),
        test=of("test"),
    )


def manifest_file(source: Path) -> Path:
    """Where the manifest of a set lies: `tasks.splits.json` beside tasks.jsonl, `splits.json` in a folder of tasks."""
    return source / "splits.json" if source.is_dir() else source.with_suffix(".splits.json")


def read_manifest(file: Path) -> SplitManifest:
    """The manifest; raises `TaskError` naming file, key and remedy."""
    try:
        manifest = SplitManifest.model_validate_json(file.read_bytes())
        splits = manifest.splits
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "file"
        raise TaskError(f"{file}: {key}: {first['msg']}: {REMEDY}") from error
    except TaskError as error:
        raise TaskError(f"{file}: {error}: {REMEDY}") from error
    if manifest.digest != split_digest(splits.items()):
        msg = f"{file}: digest: is not that of the lists, which were changed by hand: {REMEDY}"
        raise TaskError(msg)
    return manifest


def apply_manifest(file: Path, ids: Iterable[str], *, own: bool) -> dict[str, Split]:
    """Each id's split as the manifest at `file` has it; `own`: the tasks have splits of their own, one too many.

    Raises `TaskError` unless the manifest decides for exactly these ids.
    """
    splits = read_manifest(file).splits
    if own:
        msg = f"{file}: the tasks have splits of their own as well: remove the manifest, or their `split`"
        raise TaskError(msg)
    there = set(ids)
    for what, missing in (
        ("has no task", there - splits.keys()),
        ("names a task that is not there:", splits.keys() - there),
    ):
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            msg = f"{file}: {what} {min(missing)!r}{more}: {REMEDY}"
            raise TaskError(msg)
    return splits


def write_manifest(file: Path, manifest: SplitManifest, *, force: bool) -> None:
    """Write it whole or not at all; raises `TaskError` where a file is there and `force` is not given."""
    text = json.dumps(_plain(manifest), indent=1, ensure_ascii=False) + "\n"
    handle, name = tempfile.mkstemp(prefix=file.name, suffix=".part", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        Path(name).chmod(0o644)
        if force:
            Path(name).replace(file)
        else:
            os.link(name, file)
    except FileExistsError as error:
        msg = f"{file}: is there already: results so far were measured on it; --force replaces it"
        raise TaskError(msg) from error
    finally:
        Path(name).unlink(missing_ok=True)


def _plain(manifest: SplitManifest) -> dict[str, Any]:
    return manifest.model_dump(exclude_none=True)
