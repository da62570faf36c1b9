"""The recorded runs of the real CLIs that the project's reference pages keep: error cases, one folder each."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from harnesses.traces.claude_events import parse_claude
from harnesses.traces.codex_events import parse_codex
from harnesses.traces.lines import read_lines
from harnesses.traces.trace import Trace
from tests.support.tasks import REPOSITORY

ROOT = Path(os.environ.get("HONED_REFERENCE", REPOSITORY.parent / "shared" / "reference")) / "traces"
_ERRORS = ("_e_", "_sig_", "_kill_", "_dropped", "_refused")
"""What the names of error cases have in them; the others tried settings, networks and sandboxes."""


def recorded_errors() -> list[str]:
    """The names of all error cases; the test is skipped where the recordings are not."""
    if not ROOT.is_dir():
        pytest.skip("the recorded runs are not at hand (HONED_REFERENCE)")
    return sorted(folder.name for folder in ROOT.iterdir() if any(part in folder.name for part in _ERRORS))


def recorded(name: str) -> tuple[int | None, Trace, str]:
    """One case: the exit code that was seen (None: the watcher was killed), its trace, the end of its stderr."""
    if not (ROOT / name).is_dir():
        pytest.skip(f"the recorded run {name} is not at hand (HONED_REFERENCE)")
    read = parse_codex if name.startswith("codex") else parse_claude
    stderr = ROOT / name / "stderr.txt"
    code = json.loads((ROOT / name / "meta.json").read_text()).get("rc")
    return code, read(read_lines(ROOT / name / "stdout.jsonl")), stderr.read_text()[-4096:] if stderr.exists() else ""
