"""Probing an open circuit with a canary (`daemon.preflight`): one tiny request, and its outcome noted."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import structlog

from daemon.circuit.circuit import Circuit
from daemon.rollouts.stop import RunStopped
from harnesses.classify import PROVIDER_OUTCOMES
from harnesses.outcome import Outcome
from sandboxes.gateway.policy import ProviderError
from sandboxes.sandbox import SandboxError

log = structlog.get_logger(__name__)

Canary = Callable[[], Awaitable[object]]
"""Raises `RunStopped`, `ProviderError` or `SandboxError` where it is not answered."""


async def probe(circuit: Circuit, canary: Canary, clock: Callable[[], float] = time.monotonic) -> bool:
    """Send the canary and note what came of it; True: the circuit is closed.

    A canary that fails for another reason says nothing, is logged, and is sent again in its turn.
    """
    circuit.begin_probe(clock())
    try:
        await canary()
    except (RunStopped, ProviderError, SandboxError) as error:
        circuit.note(outcome_of(error) or Outcome.CANCELLED, clock(), str(error))
    except BaseException as error:
        circuit.note(Outcome.CANCELLED, clock())
        if not isinstance(error, Exception):
            raise
        log.exception("probe_failed", provider=circuit.name)
    else:
        circuit.note(Outcome.COMPLETED, clock())
    return circuit.state.phase == "closed"


def outcome_of(error: BaseException) -> Outcome | None:
    """Which outcome an error stands for, its causes looked through; None: it is about no provider and no engine."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, RunStopped) and seen.outcome is not None:
            return seen.outcome
        if isinstance(seen, ProviderError):
            return PROVIDER_OUTCOMES[seen.kind]
        if isinstance(seen, SandboxError):
            return Outcome.SANDBOX_START
        seen = seen.__cause__
    return None
