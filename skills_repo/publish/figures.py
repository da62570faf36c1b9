"""The figures of an accepted step, read back from its commits' trailers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from skills_repo.figures import parse_gate
from skills_repo.publish.facts import Figures

_COUNT = re.compile(r"[0-9]{1,15}")
_MONEY = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}")


def figures_of(trailers: Mapping[str, str]) -> Figures | None:
    """What `Honed-Gate` says; None where nothing was measured or it is not written as honed writes it."""
    gate = parse_gate(trailers.get("Honed-Gate", ""))
    if gate is None or gate.before is None or gate.after is None or not gate.tasks:
        return None
    tokens, usd = _cost_of(trailers.get("Honed-Cost", ""))
    return Figures(
        split=gate.split,
        tasks=gate.tasks,
        trials=gate.trials,
        before=gate.before,
        after=gate.after,
        standard_error=gate.standard_error,
        valid=gate.valid,
        tokens=tokens,
        usd=usd,
    )


def _cost_of(value: str) -> tuple[int | None, float | None]:
    """Tokens and money of the step; what is no figure is unknown."""
    words = dict(word.split("=", 1) for word in value.split() if "=" in word)
    tokens, usd = words.get("tokens", ""), words.get("usd", "")
    return int(tokens) if _COUNT.fullmatch(tokens) else None, float(usd) if _MONEY.fullmatch(usd) else None


def rule_of(trailers: Mapping[str, str]) -> str:
    """The rule that accepted it; empty if it is not told."""
    gate = parse_gate(trailers.get("Honed-Gate", ""))
    return gate.rule if gate else ""
