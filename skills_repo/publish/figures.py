"""The figures of an accepted step, read back from its commits' trailers."""

from __future__ import annotations

from collections.abc import Mapping

from skills_repo.figures import parse_gate
from skills_repo.publish.facts import Figures


def figures_of(trailers: Mapping[str, str]) -> Figures | None:
    """What `Honed-Gate` says; None where nothing was measured or it is not written as honed writes it."""
    gate = parse_gate(trailers.get("Honed-Gate", ""))
    if gate is None or gate.before is None or gate.after is None or not gate.tasks:
        return None
    return Figures(
        split=gate.split,
        tasks=gate.tasks,
        trials=gate.trials,
        before=gate.before,
        after=gate.after,
        standard_error=gate.standard_error,
        valid=gate.valid,
    )


def rule_of(trailers: Mapping[str, str]) -> str:
    """The rule that accepted it; empty if it is not told."""
    gate = parse_gate(trailers.get("Honed-Gate", ""))
    return gate.rule if gate else ""
