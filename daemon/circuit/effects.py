"""What each outcome says about who was asked: the whole table, one row an outcome.

A failure that no retry mends (a refused key, an empty account) is a cause like any other: it opens the circuit at once,
and probes find out when a person has mended it.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType

from harnesses.outcome import POLICIES, Outcome


class Effect(StrEnum):
    """What an outcome means for a circuit."""

    ANSWERED = "answered"
    """It works."""
    FAILED = "failed"
    """It may pass: several in a row open the circuit."""
    REFUSED = "refused"
    """It stays until something changes: one is enough."""
    SILENT = "silent"
    """It says nothing about it."""


def _table(failed: set[Outcome], refused: set[Outcome]) -> MappingProxyType[Outcome, Effect]:
    rows = {}
    for outcome, policy in POLICIES.items():
        if policy.scored:
            rows[outcome] = Effect.ANSWERED
        elif outcome in refused:
            rows[outcome] = Effect.REFUSED
        else:
            rows[outcome] = Effect.FAILED if outcome in failed else Effect.SILENT
    return MappingProxyType(rows)


PROVIDER = _table(
    failed={
        Outcome.RATE_LIMIT,
        Outcome.OVERLOADED,
        Outcome.SERVER_ERROR,
        Outcome.UNREACHABLE,
        Outcome.CUT_STREAM,
    },
    refused={Outcome.AUTH, Outcome.QUOTA, Outcome.MODEL_NOT_FOUND, Outcome.BAD_REQUEST},
)
"""Of a model provider."""

ENGINE = _table(failed={Outcome.SANDBOX_LOST, Outcome.SANDBOX_KILLED}, refused={Outcome.SANDBOX_START})
"""Of the sandbox engine: a box that does not start will not start the next time either."""
