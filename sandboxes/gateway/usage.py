"""Token counts as each dialect writes them, normalised: input includes cached tokens, output includes reasoning.

Writing to Anthropic's cache costs more than plain input (1.25 times for five minutes, twice for an hour); what is
written is part of the input, and its surcharge enters the money alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sandboxes.gateway.policy import Price, Usage, priced

_HOUR = 1.6
"""What writing for an hour costs, in terms of writing for five minutes: twice the input to 1.25 times."""


@dataclass(frozen=True)
class Counts:
    """Token counts of one answer."""

    input: int = 0
    cached: int = 0
    output: int = 0
    written: int = 0
    """Of the input, tokens written to the cache."""
    hourly: int = 0
    """Of those, tokens written for an hour."""

    def usage(self, price: Price | None) -> Usage:
        """As the usage of one request, priced; money is None where the price is unknown."""
        usage = priced(Usage(1, self.input, min(self.cached, self.input), self.output, None), price)
        if price is None or usage.usd is None:
            return usage
        surcharge = self.written * (price.written - price.input) + self.hourly * (_HOUR - 1) * price.written
        return replace(usage, usd=usage.usd + surcharge / 1_000_000)


def openai_counts(usage: Any) -> Counts | None:
    """From a Responses or Chat Completions `usage` object; None if it is none."""
    if not isinstance(usage, dict):
        return None
    if not {"input_tokens", "prompt_tokens", "output_tokens", "completion_tokens"} & usage.keys():
        return None
    details = usage.get("input_tokens_details") or usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    return Counts(
        _count(usage.get("input_tokens", usage.get("prompt_tokens"))),
        _count(cached),
        _count(usage.get("output_tokens", usage.get("completion_tokens"))),
    )


class AnthropicCounts:
    """Messages usage, which arrives in parts: later parts overrule earlier ones, field by field."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._hourly = 0

    def update(self, usage: Any) -> None:
        """Take in one `usage` object."""
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"):
            if isinstance(usage, dict) and usage.get(name) is not None:
                self._seen[name] = _count(usage[name])
        written = usage.get("cache_creation") if isinstance(usage, dict) else None
        if isinstance(written, dict):
            self._hourly = _count(written.get("ephemeral_1h_input_tokens"))

    def counts(self) -> Counts | None:
        """What is known so far; None if nothing is."""
        if not self._seen:
            return None
        read = self._seen.get("cache_read_input_tokens", 0)
        written = self._seen.get("cache_creation_input_tokens", 0)
        return Counts(
            self._seen.get("input_tokens", 0) + written + read,
            read,
            self._seen.get("output_tokens", 0),
            written,
            min(self._hourly, written),
        )


def anthropic_counts(usage: Any) -> Counts | None:
    """From a whole Messages `usage` object; None if it is none."""
    whole = AnthropicCounts()
    whole.update(usage)
    return whole.counts()


def estimated_tokens(size: int) -> int:
    """Tokens that so many bytes may be, for answers that end without saying: about a quarter, rounded up."""
    return -(-size // 4)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
