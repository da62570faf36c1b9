"""What may be written to a journal, and how it becomes JSON: the same for the real one and the fake.

Invariant: what is read back equals what was written after one pass through JSON (tuples come back as lists).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from daemon.journal.journal import JournalError
from daemon.journal.records import AttemptKey, AttemptRecord

END_STATES = ("done", "failed")


def encode(value: Mapping[str, Any], what: str) -> str:
    """Canonical JSON; raises `JournalError` for what JSON cannot hold (NaN among it)."""
    try:
        return json.dumps(dict(value), sort_keys=True, allow_nan=False, default=_mapping)
    except (TypeError, ValueError) as error:
        raise JournalError(
            f"{what} cannot be written to the journal: {error} (a fault of honed: please report it)"
        ) from error


def _mapping(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def encode_record(record: AttemptRecord) -> str:
    """A finished attempt as JSON; raises `JournalError` for a score that is no score."""
    score = record.score
    if score is not None and not (math.isfinite(score) and 0.0 <= score <= 1.0):
        raise JournalError(f"attempt {record.attempt_id} has the score {score}, not one in 0..1")
    if (score is None) != (record.hard is None):
        raise JournalError(f"attempt {record.attempt_id} must have both score and hard, or neither")
    data = {field.name: getattr(record, field.name) for field in fields(record)}
    return encode(data, f"attempt {record.attempt_id}")


def decode_record(text: str) -> AttemptRecord:
    """A record read back; keys of a later minor version are left out."""
    data = json.loads(text)
    known = {field.name for field in fields(AttemptRecord)}
    return AttemptRecord(**{key: value for key, value in data.items() if key in known})


def key_from(text: str) -> AttemptKey:
    """A key read back from its parts."""
    return AttemptKey(**json.loads(text))


def same_row(old: str, new: str, what: str) -> None:
    """Writing a row again is no error, writing another one in its place is."""
    if old != new:
        raise JournalError(f"{what} is in the journal already and differs: was the state directory copied or edited?")
