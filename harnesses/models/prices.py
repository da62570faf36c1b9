"""List prices of well-known models, for people who set none. Checked on 2026-11-29 against the providers' pages.

Plain requests only: no batch, priority or long-context rates. A model whose price depends on the prompt's length is
left out, as is any model not listed: its cost is *unknown*, never guessed. `[target.price]` overrules the table.
"""

from __future__ import annotations

import re

from sandboxes.gateway.policy import Price, Provider

_OPENAI = {
    "gpt-5.5": Price(5.0, 0.5, 30.0),
    "gpt-5.4": Price(2.5, 0.25, 15.0),
    "gpt-5.4-mini": Price(0.75, 0.075, 4.5),
    "gpt-5.4-nano": Price(0.2, 0.02, 1.25),
}
_ANTHROPIC = {
    "claude-opus-5-5": Price(4.0, 0.2, 20.0),
    "claude-opus-5": Price(5.0, 0.5, 25.0),
    "claude-opus-4-8": Price(5.0, 0.5, 25.0),
    "claude-opus-4-7": Price(5.0, 0.5, 25.0),
    "claude-opus-4-6": Price(5.0, 0.5, 25.0),
    "claude-opus-4-5": Price(5.0, 0.5, 25.0),
    "claude-sonnet-5-5": Price(2.0, 0.1, 10.0),
    "claude-sonnet-5": Price(2.0, 0.2, 10.0),
    "claude-sonnet-4-6": Price(3.0, 0.3, 15.0),
    "claude-sonnet-4-5": Price(3.0, 0.3, 15.0),
    "claude-haiku-4-5": Price(1.0, 0.1, 5.0),
}
_TABLE: dict[Provider, dict[str, Price]] = {"openai": _OPENAI, "anthropic": _ANTHROPIC}
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")


def price_of(provider: Provider, model: str) -> Price | None:
    """The list price of a model (a date at the end of its name does not matter), or None if it is not known."""
    table = _TABLE[provider]
    return table.get(model) or table.get(_DATE.sub("", model))
