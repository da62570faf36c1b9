"""JSON and JSON Lines files of benchmarks, read whole; errors name file and remedy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from daemon.tasks.task import TaskError

MAX_BYTES = 2 * 1024**3
"""Of one file."""


def json_file(file: Path) -> Any:
    """The file's content; raises `TaskError`."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise TaskError(f"{file}: is larger than {MAX_BYTES} bytes: give only the items of the splits")
        return json.loads(file.read_text("utf-8-sig"))
    except OSError as error:
        raise TaskError(f"{file}: cannot be read ({error.strerror}): see docs/benchmarks.md") from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{file}: is not JSON ({str(error)[:200]}): fetch it again") from error


def json_rows(file: Path, key: str = "data") -> list[Mapping[str, Any]]:
    """The objects of a list, or of the list under `key`; raises `TaskError`. What is no object is left as it is not."""
    plain = json_file(file)
    if isinstance(plain, dict):
        plain = plain.get(key)
    if not isinstance(plain, list):
        raise TaskError(f"{file}: holds no list of items: fetch it again")
    return [row if isinstance(row, dict) else {} for row in plain]


def json_lines(file: Path) -> list[Mapping[str, Any]]:
    """The objects of a JSON Lines file; a line that is none is an empty object, so that it is named as an item."""
    try:
        lines = file.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{file}: cannot be read ({error}): fetch it again") from error
    return [_object(line) for line in lines if line.strip()]


def _object(line: str) -> Mapping[str, Any]:
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return plain if isinstance(plain, dict) else {}
