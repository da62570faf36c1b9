"""The circuits of one daemon: one for each provider and key, shared by all projects that pay it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from daemon.budget.totals import Payer
from daemon.circuit.circuit import Circuit
from daemon.config import Config, ModelSection
from daemon.secrets import key_name
from harnesses.classify import PROVIDER_OUTCOMES
from sandboxes.gateway.policy import ProviderError


@dataclass
class Circuits:
    """By who is asked, with which key."""

    clock: Callable[[], float] = time.monotonic
    _by_name: dict[str, Circuit] = field(default_factory=dict)

    def of(self, config: Config) -> Mapping[Payer, Circuit]:
        """Those of a project's target and optimizer: the same one where both are the same."""
        return {"target": self._circuit(config.target), "optimizer": self._circuit(config.optimizer)}

    def blocked(self, config: Config) -> tuple[str, float] | None:
        """Why a project may not begin, and in how many seconds that changes; None: it may, if only to probe."""
        now = self.clock()
        for circuit in self.of(config).values():
            due = circuit.next_probe(now)
            if due is not None and due > now:
                return circuit.reason, due - now
        return None

    def closed(self, config: Config) -> bool:
        """Everybody whom a project pays may be asked."""
        return not any(circuit.reason for circuit in self.of(config).values())

    def note_error(self, config: Config, error: BaseException) -> None:
        """Take note of a run that the optimizer's provider ended; the target's tells by its attempts."""
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, ProviderError):
                self.of(config)["optimizer"].note(PROVIDER_OUTCOMES[seen.kind], self.clock(), str(seen))
                return
            seen = seen.__cause__

    def all(self) -> tuple[Circuit, ...]:
        """Every circuit by name."""
        return tuple(circuit for _, circuit in sorted(self._by_name.items()))

    def _circuit(self, section: ModelSection) -> Circuit:
        parts = urlsplit(section.base_url or "")
        port = f":{parts.port}" if parts.port else ""
        host = f"{parts.hostname}{port}" if parts.hostname else "its public address"
        name = f"{section.provider} at {host}, {section.model} (key {key_name(section)})"
        return self._by_name.setdefault(name, Circuit(name))
