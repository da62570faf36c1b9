"""What a run came to, as it is compared: decisions, commits, and the score of every attempt.

Left out of the comparison is what times and places alone make: the date of a decision and of its commits, and seconds.
Costs are compared like all else: a commit tells of the scored attempts that its step rests on, and no failed try.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harnesses.outcome import POLICIES, Outcome
from tests.support.honed_cli import git, journal_rows

_OF_ITS_TIME = {"when", "wall_s"}


@dataclass(frozen=True)
class Record:
    """One whole run."""

    refs: dict[str, list[tuple[str, str]]]
    """By ref below honed's names: tree and message of each commit, oldest first."""
    decisions: dict[str, Any]
    """By run, step and kind."""
    scores: dict[str, tuple[str, float, int, str]]
    """By the content of an attempt: outcome, score, solved, feedback. Of the scored ones."""
    invalid: Counter[str] = field(default_factory=Counter)
    """Attempts without a score, by outcome."""
    scored_failures: tuple[str, ...] = ()
    """Attempts that have a score though their outcome is a failure of ours: there must be none."""
    by_attempt: dict[str, tuple[str, bool]] = field(default_factory=dict)
    """Attempt to outcome and whether it has a score."""


def record_of(folder: Path) -> Record:
    """Read with git and SQLite themselves."""
    rows = journal_rows(
        folder,
        "SELECT attempt_id, key, outcome, score, hard, json_extract(record, '$.feedback') FROM attempts"
        " WHERE state = 'finished'",
    )
    scored = {row[1]: (row[2], row[3], row[4], row[5]) for row in rows if row[3] is not None}
    wrong = [f"{row[0]}: {row[2]}" for row in rows if row[3] is not None and not POLICIES[Outcome(row[2])].scored]
    return Record(
        refs=_refs(folder),
        decisions=_decisions(folder),
        scores=scored,
        invalid=Counter(str(row[2]) for row in rows if row[3] is None),
        scored_failures=tuple(wrong),
        by_attempt={str(row[0]): (str(row[2]), row[3] is not None) for row in rows},
    )


def differences(true: Record, faulty: Record) -> list[str]:
    """What is not the same, in lines; empty if all is."""
    found = [f"scored though it failed: {one}" for one in faulty.scored_failures]
    found += _differ("ref", true.refs, faulty.refs)
    found += _differ("decision", true.decisions, faulty.decisions)
    both = true.scores.keys() & faulty.scores.keys()
    for key in sorted(both):
        if true.scores[key] != faulty.scores[key]:
            found.append(f"attempt {key[:20]}: {true.scores[key]} without faults, {faulty.scores[key]} with them")
    return found


def _differ(what: str, true: dict[str, Any], faulty: dict[str, Any]) -> list[str]:
    found = []
    for key in sorted(true.keys() | faulty.keys()):
        if key not in faulty or key not in true:
            found.append(f"{what} {key}: only {'with' if key in faulty else 'without'} faults")
        elif true[key] != faulty[key]:
            found.append(f"{what} {key}: {_first(true[key], faulty[key])}")
    return found


def _first(true: Any, faulty: Any, path: str = "") -> str:
    """Where two values part."""
    if isinstance(true, dict) and isinstance(faulty, dict):
        for key in sorted(true.keys() | faulty.keys()):
            if true.get(key) != faulty.get(key):
                return _first(true.get(key), faulty.get(key), f"{path}.{key}")
    if isinstance(true, list) and isinstance(faulty, list) and len(true) == len(faulty):
        for number, (one, other) in enumerate(zip(true, faulty, strict=True)):
            if one != other:
                return _first(one, other, f"{path}[{number}]")
    return f"{path}: {str(true)[:300]!r} without faults, {str(faulty)[:300]!r} with them"


def _refs(folder: Path) -> dict[str, list[tuple[str, str]]]:
    names = git(folder, "for-each-ref", "--format=%(refname)").split()
    return {name: _commits(folder, name) for name in names if "/honed/" in name and "/notes/" not in name}


def _commits(folder: Path, ref: str) -> list[tuple[str, str]]:
    told = git(folder, "log", "--reverse", "--format=%T%x00%B%x01", ref)
    rows = [row.strip("\n").split("\0") for row in told.split("\x01") if row.strip()]
    return [(row[0], row[1]) for row in rows]


def _decisions(folder: Path) -> dict[str, Any]:
    rows = journal_rows(folder, "SELECT run_id, step, kind, payload FROM decisions")
    return {f"{run}/{step}/{kind}": _timeless(json.loads(payload), kind) for run, step, kind, payload in rows}


def _timeless(value: Any, kind: str) -> Any:
    if kind.endswith("commits"):
        return len(value["commits"])  # their names hold their dates; what is in them is compared by `refs`
    if isinstance(value, dict):
        return {key: _timeless(one, "") for key, one in value.items() if key not in _OF_ITS_TIME}
    return [_timeless(one, "") for one in value] if isinstance(value, list) else value
