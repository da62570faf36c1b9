"""List prices of well-known models, for people who set none: one row a model, each with the day it was checked.

Plain requests only: no batch, priority or long-context rates. A model whose price depends on the prompt's length is
left out, as is any model not listed: its cost is *unknown*, never guessed. `price` in honed.toml overrules the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sandboxes.gateway.policy import Price, Provider

_OPENAI = "https://openai.com/api/pricing"
_ANTHROPIC = "https://platform.claude.com/docs/en/about-claude/pricing"


@dataclass(frozen=True)
class ListPrice:
    """A row of the table."""

    provider: Provider
    model: str
    price: Price
    checked: str
    """The day (ISO) on which it stood so at `source`."""
    source: str


def _openai(model: str, price: Price, checked: str) -> ListPrice:
    return ListPrice("openai", model, price, checked, _OPENAI)


def _anthropic(model: str, price: Price, checked: str) -> ListPrice:
    return ListPrice("anthropic", model, price, checked, _ANTHROPIC)


# US dollars for a million tokens: input, cached input, output. Writing to Anthropic's cache costs 1.25 times the input.
TABLE: tuple[ListPrice, ...] = (
    _openai("gpt-5.5", Price(5.0, 0.5, 30.0), "2026-11-29"),
    _openai("gpt-5.4", Price(2.5, 0.25, 15.0), "2026-11-29"),
    _openai("gpt-5.4-mini", Price(0.75, 0.075, 4.5), "2026-11-29"),
    _openai("gpt-5.4-nano", Price(0.2, 0.02, 1.25), "2026-11-29"),
    _anthropic("claude-opus-5-5", Price(4.0, 0.2, 20.0), "2026-11-29"),
    _anthropic("claude-opus-5", Price(5.0, 0.5, 25.0), "2026-11-29"),
    _anthropic("claude-opus-4-8", Price(5.0, 0.5, 25.0), "2026-11-29"),
    _anthropic("claude-opus-4-7", Price(5.0, 0.5, 25.0), "2026-11-29"),
    _anthropic("claude-opus-4-6", Price(5.0, 0.5, 25.0), "2026-11-29"),
    _anthropic("claude-opus-4-5", Price(5.0, 0.5, 25.0), "2026-11-29"),
    _anthropic("claude-sonnet-5-5", Price(2.0, 0.1, 10.0), "2026-11-29"),
    _anthropic("claude-sonnet-5", Price(2.0, 0.2, 10.0), "2026-11-29"),
    _anthropic("claude-sonnet-4-6", Price(3.0, 0.3, 15.0), "2026-11-29"),
    _anthropic("claude-sonnet-4-5", Price(3.0, 0.3, 15.0), "2026-11-29"),
    _anthropic("claude-haiku-4-5", Price(1.0, 0.1, 5.0), "2026-11-29"),
)
_DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")


def list_price(provider: Provider, model: str) -> ListPrice | None:
    """The row of a model (a date at the end of its name does not matter), or None if it is not in the table."""
    rows = {row.model: row for row in TABLE if row.provider == provider}
    return rows.get(model) or rows.get(_DATE.sub("", model))


def price_of(provider: Provider, model: str) -> Price | None:
    """The list price of a model, or None if it is not known."""
    row = list_price(provider, model)
    return row.price if row else None
