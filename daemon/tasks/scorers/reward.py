"""The reward that a test script wrote: `reward.json` (wins) or `reward.txt`, one finite number from 0 to 1.

`reward.json` may hold several by name; the one that counts is named `reward`, or the only one.

Anything else is the verifier's failure and never a score: rounding 2.0 down or reading NaN as 0 would hide a broken,
or forged, verifier.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daemon.tasks.scorers.scorer import VerifierError
from sandboxes.sandbox import Collected

MAX_BYTES = 64 * 1024
NAME = "reward"
_NUMBER = re.compile(r"[+-]?(?:\d{1,40}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,4})?", re.ASCII)


@dataclass(frozen=True)
class Reward:
    """What a script wrote."""

    value: float
    """The one that counts."""
    source: str
    """The file's name."""
    named: Mapping[str, float]
    """All of them; one without a name is `reward`."""


def read_reward(out: Collected) -> Reward:
    """The reward; raises `VerifierError` saying what is wrong with it."""
    for name, parse in (("reward.json", _from_json), ("reward.txt", _from_text)):
        left_out = [line for line in out.skipped if line.startswith(f"{name}:")]
        if left_out:
            msg = f"{name} is no plain file: {left_out[0][:200]}"
            raise VerifierError(msg)
        if name in out.files:
            named = parse(_decoded(out.files[name], name))
            value = counting(named)
            assert value is not None, "parsing makes sure of one that counts"
            return Reward(_bounded(value, name), name, named)
    msg = "the test script wrote neither reward.json nor reward.txt to /logs/verifier"
    raise VerifierError(msg)


def counting(named: Mapping[str, float]) -> float | None:
    """The reward that counts: `reward`, or the only one; None where neither is there."""
    return named[NAME] if NAME in named else _only(named)


def _only(members: Mapping[str, Any]) -> Any:
    return next(iter(members.values())) if len(members) == 1 else None


def _decoded(data: bytes, name: str) -> str:
    if len(data) > MAX_BYTES:
        msg = f"{name} has {len(data)} bytes: it must hold one number"
        raise VerifierError(msg)
    try:
        text = data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        msg = f"{name} is not UTF-8"
        raise VerifierError(msg) from error
    if not text:
        msg = f"{name} is empty"
        raise VerifierError(msg)
    return text


def _bounded(value: float, name: str) -> float:
    if not (math.isfinite(value) and 0.0 <= value <= 1.0):
        msg = f"{name} holds {value!r}: a reward is a finite number from 0 to 1"
        raise VerifierError(msg)
    return abs(value)  # -0.0 is 0.0


def _from_text(text: str) -> dict[str, float]:
    if not _NUMBER.fullmatch(text):
        msg = f"reward.txt holds {text[:80]!r}: write one number from 0 to 1"
        raise VerifierError(msg)
    return {NAME: float(text)}


def _from_json(text: str) -> dict[str, float]:
    try:
        plain = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        msg = f"reward.json is not JSON: {str(error)[:200]}"
        raise VerifierError(msg) from error
    members = plain if isinstance(plain, dict) else {NAME: plain}
    if not _is_number(members[NAME] if NAME in members else _only(members)):
        msg = 'reward.json must hold a number, or an object with one: {"reward": 0.5}'
        raise VerifierError(msg)
    return {name: _number(value) for name, value in members.items() if _is_number(value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        msg = "a key is there twice"
        raise ValueError(msg)
    return plain


def failed_checks(out: Collected) -> str:
    """How many checks failed, from a CTRF report (`ctrf.json`) as far as it makes sense; never a check's name."""
    try:
        summary = json.loads(out.files["ctrf.json"][: 4 * 1024 * 1024])["results"]["summary"]
        tests, failed = summary["tests"], summary["failed"]
    except (KeyError, TypeError, ValueError, RecursionError):
        return ""
    plausible = type(tests) is int and type(failed) is int and 0 < failed <= tests <= 100_000
    return f"{failed} of {tests} checks failed" if plausible else ""
