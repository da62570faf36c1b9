"""A cap of `[budget]` is used up: not a failure, an end that was asked for."""

from __future__ import annotations

from typing import Literal

Scope = Literal["step", "run", "day"]
Cap = Literal["attempts", "tokens", "usd", "minutes"]

_REMEDIES: dict[Scope, str] = {
    "step": "raise it in honed.toml for the steps to come",
    "run": "raise it in honed.toml, then `honed train` goes on",
    "day": "raise it in honed.toml or wait until tomorrow (UTC), then the same command goes on",
}


class BudgetReached(Exception):  # noqa: N818 - it is a decision, said in one line, not a defect
    """Nothing more may be spent in a scope; whatever runs already is finished and kept.

    `str()` is one line: which cap, what was spent, and the key to raise.
    """

    def __init__(self, scope: Scope, cap: Cap, limit: float, spent: float) -> None:
        name = f"[budget.{scope}] {cap}"
        super().__init__(f"{name} = {_figure(cap, limit)} is used up ({_figure(cap, spent)}): {_REMEDIES[scope]}")
        self.scope: Scope = scope
        self.cap: Cap = cap
        self.limit = limit
        self.spent = spent


def _figure(cap: Cap, value: float) -> str:
    if cap in ("attempts", "tokens"):
        return f"{value:,.0f}"
    digits = 2 if cap == "usd" else 1
    if 0 < value < 10**-digits:  # a cap of half a cent is not 0.00
        return f"{value:.2g}"
    return f"{value:,.{digits}f}".removesuffix(".0")
