"""A receipt that an attempt has ended: what was known of it before it was scored, in the attempt's own folder.

A honed that is killed while it scores finds it at its next start, and scores the same result instead of paying for
another. Invariants: it is written once everything that only the living process knew (what the door counted, how the
command ended) is in it, whole or not at all; the agent cannot reach it; the workspace is read back from the disk, and
must be what it was, file by file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import structlog

from daemon.journal.journal import JournalError
from daemon.journal.records import AttemptRecord
from daemon.journal.rows import decode_record, encode_record
from daemon.tasks.scorers.scorer import Result
from harnesses.episode import EpisodeStatus
from sandboxes.collect import collect
from sandboxes.sandbox import Collected, Limits

NAME = "receipt.json"
_FORMAT = 1
_MAX_BYTES = 64 * 1024 * 1024

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Receipt:
    """An attempt that has ended and is not scored yet."""

    record: AttemptRecord
    """Without a score."""
    files: Mapping[str, str]
    """Of the workspace as it was collected: path to SHA-256."""
    skipped: tuple[str, ...]
    episode: EpisodeStatus | None


def write_receipt(folder: Path, record: AttemptRecord, result: Result) -> None:
    """Write it: a kill finds it whole or not at all. A disk that refuses costs the receipt, not the attempt. Blocking.

    Not forced to the disk: what a power cut takes of it or of the workspace is seen when it is read, and costs no more.
    """
    data: dict[str, Any] = {
        "format": _FORMAT,
        "record": json.loads(encode_record(record)),
        "files": _digests(result.workspace),
        "skipped": list(result.workspace.skipped),
        "episode": None if result.episode is None else asdict(result.episode),
    }
    half = folder / f".{NAME}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(half, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(json.dumps(data))  # `json.dump` is many times as slow
        half.replace(folder / NAME)
    except OSError as error:
        log.warning("receipt_not_written", folder=str(folder), error=str(error))


def read_receipt(folder: Path) -> Receipt | None:
    """The receipt of an attempt's folder; None if there is none, or none that this honed understands. Blocking."""
    try:
        with (folder / NAME).open("rb") as file:
            data = json.loads(file.read(_MAX_BYTES))
        if data["format"] != _FORMAT:
            return None
        episode = data["episode"]
        return Receipt(
            decode_record(json.dumps(data["record"])),
            dict(data["files"]),
            tuple(data["skipped"]),
            None if episode is None else EpisodeStatus(**episode),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, JournalError) as error:
        log.warning("receipt_not_read", folder=str(folder), error=f"{type(error).__name__}: {error}")
        return None


def result_of(folder: Path, receipt: Receipt) -> Result | None:
    """What the attempt left, to be scored; None if its workspace is not what it was. Blocking."""
    workspace = folder / "workspace"
    try:
        found = collect(workspace, Limits()) if workspace.is_dir() else Collected({})
    except OSError as error:
        log.warning("workspace_not_read", folder=str(folder), error=str(error))
        return None
    if _digests(found) != receipt.files or found.skipped != receipt.skipped:
        return None
    return Result(receipt.record.final_answer, found, receipt.episode)


def _digests(workspace: Collected) -> dict[str, str]:
    return {path: hashlib.sha256(data).hexdigest() for path, data in workspace.files.items()}
